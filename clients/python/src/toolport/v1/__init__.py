"""The messages and the service of the contract, generated from its .proto files."""
