/** The logger every part receives. Fields first, sentence second, as pino takes them. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Whether such lines are written: what only they tell need not be found out else. */
  isLevelEnabled(level: 'debug'): boolean;
  child(fields: object): Log;
}

/** A logger that says nothing, for tests and offline commands. */
export const silent: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  isLevelEnabled: () => false,
  child: () => silent,
};
