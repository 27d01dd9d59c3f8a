/**
 * Start/stop contract of long-lived parts. `start` resolves when ready. `stop` resolves when work in flight is done or released;
 * it may be called twice, before `start`, and during it.
 */
export interface Service {
  start(): Promise<void>;
  stop(): Promise<void>;
}
