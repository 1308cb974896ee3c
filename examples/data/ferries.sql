-- The bookings of a small ferry company that does not exist.
CREATE TABLE ports (
  code TEXT PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE crossings (
  id INTEGER PRIMARY KEY,
  ship TEXT NOT NULL,
  origin TEXT NOT NULL REFERENCES ports (code),
  destination TEXT NOT NULL REFERENCES ports (code),
  departs TEXT NOT NULL, -- local time, ISO 8601
  seats INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('planned', 'sailed', 'cancelled'))
) STRICT;

CREATE TABLE bookings (
  reference TEXT PRIMARY KEY,
  crossing_id INTEGER NOT NULL REFERENCES crossings (id),
  passenger TEXT NOT NULL,
  seats INTEGER NOT NULL,
  paid_cents INTEGER NOT NULL
) STRICT;

INSERT INTO ports (code, name) VALUES
  ('SAN', 'Sandhaven'),
  ('SKE', 'Skerry'),
  ('LOW', 'Lowick');

INSERT INTO crossings (id, ship, origin, destination, departs, seats, status) VALUES
  (1, 'Heron', 'SAN', 'SKE', '2026-05-01T07:30', 180, 'sailed'),
  (2, 'Heron', 'SKE', 'SAN', '2026-05-01T10:15', 180, 'sailed'),
  (3, 'Otter', 'SAN', 'LOW', '2026-05-01T09:00', 64, 'cancelled'),
  (4, 'Otter', 'LOW', 'SAN', '2026-05-01T12:30', 64, 'sailed'),
  (5, 'Heron', 'SAN', 'SKE', '2026-05-02T07:30', 180, 'planned'),
  (6, 'Heron', 'SKE', 'SAN', '2026-05-02T10:15', 180, 'planned'),
  (7, 'Otter', 'SAN', 'LOW', '2026-05-02T09:00', 64, 'planned'),
  (8, 'Otter', 'LOW', 'SAN', '2026-05-02T12:30', 64, 'planned');

INSERT INTO bookings (reference, crossing_id, passenger, seats, paid_cents) VALUES
  ('TW-204801', 1, 'Ines Okafor', 2, 3600),
  ('TW-204802', 1, 'Bram Lindqvist', 1, 1800),
  ('TW-204803', 3, 'Mei Tanaka', 4, 5200),
  ('TW-204804', 3, 'Yusuf Aydin', 2, 2600),
  ('TW-204805', 4, 'Rosa Delgado', 1, 1300),
  ('TW-204806', 5, 'Ines Okafor', 2, 3600),
  ('TW-204807', 5, 'Tomasz Zielinski', 3, 5400),
  ('TW-204808', 6, 'Ines Okafor', 2, 3600),
  ('TW-204809', 7, 'Mei Tanaka', 4, 5200),
  ('TW-204810', 8, 'Priya Raman', 2, 2600);
