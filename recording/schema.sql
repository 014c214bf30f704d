-- One day (UTC) of a recording. Times (*_ns) are in Unix nanoseconds, sizes
-- (*_bytes) in bytes; NULL is unknown. docs/recording.md explains the tables.

-- A time of writing without interruption: from the start of a recorder, or from
-- the moment at which the clock was set back, on. to_ns is of the last sealed tick.
CREATE TABLE sessions (
  session INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,
  host TEXT, user TEXT, simulated INTEGER NOT NULL, arguments INTEGER NOT NULL
);

CREATE TABLE gpus (
  gpu INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, gpu_index INTEGER, name TEXT, pci_bus_id TEXT,
  total_bytes INTEGER, reserved_bytes INTEGER, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL
);

-- A process on a GPU or, with mig_gpu and mig_compute, on a MIG instance.
-- used_bytes is the last that is known.
CREATE TABLE processes (
  process INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL, start_time INTEGER NOT NULL, pid_namespace INTEGER NOT NULL,
  gpu INTEGER NOT NULL REFERENCES gpus, mig_gpu INTEGER, mig_compute INTEGER,
  parent INTEGER, uid INTEGER, user TEXT, name TEXT, command TEXT, job_kind TEXT, job_id TEXT,
  job_step TEXT, job_namespace TEXT, job_container TEXT, job_account TEXT,
  type TEXT, runtime TEXT, runtime_version TEXT, started_ns INTEGER,
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, ended_ns INTEGER, exit_status INTEGER,
  used_bytes INTEGER, peak_bytes INTEGER, out_of_memory_count INTEGER, alloc_retries INTEGER
);
CREATE INDEX process_identity ON processes (pid, start_time);
CREATE INDEX process_ended ON processes (ended_ns) WHERE ended_ns IS NOT NULL;

-- A series is of a process, of a GPU, or of a GPU's MIG instance.
CREATE TABLE series (
  series INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions, metric TEXT NOT NULL,
  gpu INTEGER REFERENCES gpus, mig_gpu INTEGER, mig_compute INTEGER, process INTEGER REFERENCES processes
);
CREATE INDEX series_process ON series (process, metric);
CREATE INDEX series_gpu ON series (gpu, metric);

-- When the ticks of a block were, and the samples of each series at them.
CREATE TABLE ticks (
  session INTEGER NOT NULL REFERENCES sessions, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,
  codec INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (from_ns, session)
) WITHOUT ROWID;
CREATE TABLE chunks (
  series INTEGER NOT NULL REFERENCES series, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,
  codec INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (from_ns, series)
) WITHOUT ROWID;
-- The ticks that are in no block yet, one row each.
CREATE TABLE tail (time_ns INTEGER PRIMARY KEY, session INTEGER NOT NULL, data BLOB NOT NULL, codec INTEGER);

-- What is known beside the samples, from a moment on, as JSON; NULL: it is not there any more.
CREATE TABLE box_states (
  session INTEGER NOT NULL, from_ns INTEGER NOT NULL, state TEXT, PRIMARY KEY (session, from_ns)
) WITHOUT ROWID;
CREATE TABLE gpu_states (
  gpu INTEGER NOT NULL REFERENCES gpus, session INTEGER NOT NULL, from_ns INTEGER NOT NULL, state TEXT,
  PRIMARY KEY (gpu, session, from_ns)
) WITHOUT ROWID;
CREATE TABLE process_states (
  process INTEGER NOT NULL REFERENCES processes, session INTEGER NOT NULL, from_ns INTEGER NOT NULL, state TEXT,
  PRIMARY KEY (process, session, from_ns)
) WITHOUT ROWID;

CREATE TABLE events (
  event INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, kind TEXT NOT NULL, severity INTEGER NOT NULL,
  gpu INTEGER REFERENCES gpus, process INTEGER REFERENCES processes, user TEXT, name TEXT, message TEXT, bytes INTEGER
);
CREATE INDEX event_time ON events (time_ns);

-- An alert stood from from_ns to to_ns, as far as recorded; NULL: it stands. since_ns
-- is when it was raised, perhaps on the day before.
CREATE TABLE alerts (
  alert INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL, to_ns INTEGER, since_ns INTEGER, kind TEXT NOT NULL, severity INTEGER NOT NULL,
  gpu INTEGER REFERENCES gpus, mig_gpu INTEGER, mig_compute INTEGER, process INTEGER REFERENCES processes,
  note TEXT, message TEXT, advice TEXT
);
CREATE INDEX alert_time ON alerts (from_ns);

-- What was forecast when an alert was raised: when the GPU will be full (a median
-- and an 80 % interval, as time from then), and its memory at each horizon.
CREATE TABLE forecasts (
  alert INTEGER NOT NULL REFERENCES alerts, time_ns INTEGER NOT NULL,
  gpu INTEGER REFERENCES gpus, process INTEGER REFERENCES processes, horizon_ns INTEGER NOT NULL,
  median_bytes INTEGER, lower_80_bytes INTEGER, upper_80_bytes INTEGER, lower_95_bytes INTEGER, upper_95_bytes INTEGER,
  full_median_ns INTEGER, full_earliest_ns INTEGER, full_latest_ns INTEGER
);
CREATE INDEX forecast_time ON forecasts (time_ns);

-- What was done to a process: flush, attach, signal.
CREATE TABLE actions (
  action INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, kind TEXT NOT NULL,
  gpu INTEGER REFERENCES gpus, process INTEGER REFERENCES processes, message TEXT, freed_bytes INTEGER
);
CREATE INDEX action_time ON actions (time_ns);

-- What the guard decided (docs/guard.md): kind is would, flushed, refused, nothing, reached, came_back, tripped,
-- paused or resumed. measured_bytes is by the driver.
CREATE TABLE decisions (
  decision INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, kind TEXT NOT NULL, rule TEXT,
  gpu INTEGER REFERENCES gpus, mig_gpu INTEGER, mig_compute INTEGER, process INTEGER REFERENCES processes, user TEXT, name TEXT, level TEXT,
  free_bytes INTEGER, goal_bytes INTEGER, expected_bytes INTEGER, measured_bytes INTEGER, reason TEXT, message TEXT
);
CREATE INDEX decision_time ON decisions (time_ns);

-- An out-of-memory error of a process; detail is JSON.
CREATE TABLE ooms (
  oom INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, gpu INTEGER REFERENCES gpus, process INTEGER REFERENCES processes,
  message TEXT, requested_bytes INTEGER, gpu_total_bytes INTEGER, gpu_used_bytes INTEGER, gpu_free_bytes INTEGER,
  used_bytes INTEGER, allocated_bytes INTEGER, cached_bytes INTEGER, fragmented_bytes INTEGER, detail TEXT
);
CREATE INDEX oom_time ON ooms (time_ns);

-- Minimum, time-weighted mean and maximum in the minute that begins at time_ns;
-- covered_ns is how much of it was measured.
CREATE TABLE gpu_minute (
  time_ns INTEGER NOT NULL, gpu INTEGER NOT NULL REFERENCES gpus, covered_ns INTEGER NOT NULL, processes INTEGER,
  used_min_bytes INTEGER, used_mean_bytes INTEGER, used_max_bytes INTEGER,
  free_min_bytes INTEGER, free_mean_bytes INTEGER, free_max_bytes INTEGER,
  allocated_min_bytes INTEGER, allocated_mean_bytes INTEGER, allocated_max_bytes INTEGER,
  cached_min_bytes INTEGER, cached_mean_bytes INTEGER, cached_max_bytes INTEGER,
  fragmented_min_bytes INTEGER, fragmented_mean_bytes INTEGER, fragmented_max_bytes INTEGER,
  other_min_bytes INTEGER, other_mean_bytes INTEGER, other_max_bytes INTEGER,
  unknown_min_bytes INTEGER, unknown_mean_bytes INTEGER, unknown_max_bytes INTEGER,
  utilization_min_percent INTEGER, utilization_mean_percent REAL, utilization_max_percent INTEGER,
  energy_joules INTEGER,
  PRIMARY KEY (time_ns, gpu)
) WITHOUT ROWID;

-- The same of a process in the five minutes that begin at time_ns, and what of the GPU's
-- time and energy it had (docs/report.md): busy_ns and idle_ns while utilization was known.
CREATE TABLE process_5min (
  time_ns INTEGER NOT NULL, process INTEGER NOT NULL REFERENCES processes, covered_ns INTEGER NOT NULL,
  used_min_bytes INTEGER, used_mean_bytes INTEGER, used_max_bytes INTEGER,
  allocated_min_bytes INTEGER, allocated_mean_bytes INTEGER, allocated_max_bytes INTEGER,
  cached_min_bytes INTEGER, cached_mean_bytes INTEGER, cached_max_bytes INTEGER,
  fragmented_min_bytes INTEGER, fragmented_mean_bytes INTEGER, fragmented_max_bytes INTEGER,
  other_min_bytes INTEGER, other_mean_bytes INTEGER, other_max_bytes INTEGER,
  sm_utilization_min_percent INTEGER, sm_utilization_mean_percent REAL, sm_utilization_max_percent INTEGER,
  out_of_memory_count INTEGER, alloc_retries INTEGER,
  held_ns INTEGER, busy_ns INTEGER, idle_ns INTEGER, energy_joules INTEGER,
  PRIMARY KEY (time_ns, process)
) WITHOUT ROWID;
