/** A job as its runner sees it. */
export interface JobOrder {
  /** `job-<32 hex digits>`. */
  id: string;
  /** Public id of the model. */
  model: string;
  /** Number of lines in the input. */
  lines: number;
  /** Address of the input file. */
  input: string;
  /** Address of the folder for the results. */
  output: string;
}

/** A job that was started, with the runner's own name for it. */
export interface StartedJob extends JobOrder {
  handle: string;
}

/** State of a started job. `note` explains a failure to the operator. */
export type JobState = { state: 'running' } | { state: 'succeeded' } | { state: 'failed'; note: string };

/** Service that runs jobs. Calls may come from another process than the one that started the job. */
export interface JobRunner {
  /** Address without credentials, for logs and operators. */
  readonly name: string;
  /**
   * Starts a job and returns its handle. A job with this id that is already running is adopted.
   * @throws an error for the operator; the job has then not started
   */
  start(order: JobOrder): Promise<string>;
  /** @throws an error where the state is unknown at present, for example while the runner is unreachable */
  stateOf(job: StartedJob): Promise<JobState>;
  /** Stops a job, if it still runs. */
  cancel(job: StartedJob): Promise<void>;
  logOf(job: StartedJob): Promise<string>;
  /** @throws ApiError if the runner takes no jobs at present */
  check(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}
