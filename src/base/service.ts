/**
 * The start/stop contract of everything long-lived: `start` resolves when ready; `stop` may be called twice,
 * before `start`, and during it, and resolves when all work in flight is done or given back.
 */
export interface Service {
  start(): Promise<void>;
  stop(): Promise<void>;
}
