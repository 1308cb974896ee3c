import { defaults } from "./world.ts";

defaults.barePath = false;
