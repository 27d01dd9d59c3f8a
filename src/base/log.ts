/** Logger in the form of pino: fields first, message second. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** True if such lines are written; skip preparing them otherwise. */
  isLevelEnabled(level: 'debug'): boolean;
  child(fields: object): Log;
}

/** Logger that discards everything, for tests and offline commands. */
export const silent: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  isLevelEnabled: () => false,
  child: () => silent,
};
