import { ApiError } from '../../core/errors.ts';
import { parseDatabaseUrl } from '../../core/database-url.ts';
import { StoreError, type StoreErrorCode } from '../../core/store-error.ts';
import { tlsFault } from './tls.ts';

/** Codes of Postgres (documentation, appendix A) and the operating system for a lost connection. */
const lostCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ENOENT', // no such socket
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '25P03', // idle_in_transaction_session_timeout
]);

/** The driver's own errors have no codes. */
const lostMessages =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Client was closed|timeout expired)/;
/** Time limit exceeded, of the server or ours. */
const lateCodes = new Set([
  '57014', // query_canceled
  '55P03', // lock_not_available
]);
const lateMessage = /^Query read timeout/;
const endedMessage = /^Cannot use a pool after calling end/;

/** protocol_violation: PgBouncer uses it for nearly every error of its own, and closes the connection. */
const poolerCode = '08P01';
/** PgBouncer's messages about a connection that it lost, closes, or cannot make now (src/{client,server,objects,janitor,admin}.c). */
const poolerLost = new RegExp(
  `^(${[
    'server conn crashed',
    'server connection closed',
    'server lifetime over',
    // Followed by the error of the last attempt: connections are retried after server_login_retry.
    'server login has been failing',
    'pgbouncer cannot connect to server', // its words before 1.16
    'client_login_timeout',
    // Any error of a server connection on which PgBouncer sets the parameters of the client, also that the server ends it.
    'invalid server parameter',
    'server shutting down',
    'pooler is shutting down',
    'suspend_timeout',
    'pause failed',
    'client_idle_timeout',
    'admin forced disconnect',
  ].join('|')})`,
);
/** read_only_sql_transaction */
const readOnlyCode = '25006';

const nameCodes = new Set([
  '26000', // invalid_sql_statement_name
  '42P05', // duplicate_prepared_statement
]);

/** Conflicts with another transaction; a retry sees what that one wrote. */
const conflictCodes = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '23505', // unique_violation
]);

export function isConflict(error: unknown): boolean {
  return conflictCodes.has(codeOf(error));
}

/** True if the connection is lost or was not made. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code === poolerCode) return poolerLost.test(messageOf(error));
  return lostCodes.has(code) || code.startsWith('08') || (code === '' && lostMessages.test(messageOf(error)));
}

/** True if the name of a prepared statement is missing on the server, or belongs to another statement. */
export function isNameClash(error: unknown): boolean {
  return nameCodes.has(codeOf(error));
}

/** True if the server takes no writes: a replica, a former primary, or one whose operator allows only reads. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === readOnlyCode;
}

/** True if the connection must not be used again. After `isReadOnly` a new one may reach the new primary. */
export function isUnusable(error: unknown): boolean {
  return (
    isLost(error) ||
    isUnanswered(error) ||
    isNameClash(error) ||
    isReadOnly(error) ||
    codeOf(error) === poolerCode
  );
}

export function isFromServer(error: unknown): boolean {
  return severityOf(error) !== '';
}

/** True if a time limit was exceeded. An immediate retry would only take as long again. */
function isLate(error: unknown): boolean {
  return lateCodes.has(codeOf(error)) || isUnanswered(error);
}

/** True if we stopped waiting: further data on the connection belongs to the abandoned statement. */
function isUnanswered(error: unknown): boolean {
  return codeOf(error) === '' && lateMessage.test(messageOf(error));
}

/** Standstill of this process from which it is named as the reason: half of the shortest time limit of the server. */
const minStallMs = 5_000;

/**
 * Maps errors that an operator can fix to ours; other errors pass through.
 * @param stalledMs milliseconds for which this process stood still during the operation
 */
export function translate(error: unknown, url: string, stalledMs = 0): unknown {
  const code = codeOf(error);
  const fault = (kind: StoreErrorCode, message: string, hint: string) =>
    new StoreError(kind, message, hint, { cause: error });
  // Its timers fire before it reads what the database answered meanwhile, and the server ends transactions that idle.
  if (stalledMs >= minStallMs && (isLost(error) || isLate(error)))
    return fault(
      'unreachable',
      `This process stood still for ${Math.round(stalledMs / 1_000)} s, and lost the answer of the database ${nameOf(url)} (${messageOf(error)}).`,
      'Check whether the machine was suspended, or short of CPU or memory.',
    );
  const insecure = tlsFault(error, nameOf(url));
  if (insecure) return fault('refused', insecure.message, insecure.hint);
  if (isLost(error))
    return fault(
      'unreachable',
      `The database ${nameOf(url)} does not answer (${code === poolerCode ? messageOf(error) : code || messageOf(error)}).`,
      'Check that Postgres runs there and that this machine may connect to it.',
    );
  if (isLate(error))
    return fault(
      'unreachable',
      `The database ${nameOf(url)} does not answer in time (${messageOf(error)}).`,
      'Check its load, its disk, and the sessions that hold locks.',
    );
  if (code === poolerCode && severityOf(error) === 'FATAL')
    return fault(
      'refused',
      `The database ${nameOf(url)}, or the pooler in front of it, refused: ${messageOf(error)}.`,
      poolerHint(messageOf(error)),
    );
  if (isNameClash(error))
    return fault(
      'refused',
      `The pooler at ${nameOf(url)} does not keep prepared statements: ${messageOf(error)}.`,
      'Set max_prepared_statements of the pooler above 0, use its session mode, or connect to Postgres directly.',
    );
  if (code === '53100')
    return new ApiError('insufficient_storage', 'The database is full: nothing more can be stored.', {
      cause: error,
    });
  if (endedMessage.test(messageOf(error)))
    return fault('stopped', 'The store is not running.', 'Start the service again.');
  if (/^(28|3D|42501|53300)/.test(code))
    return fault(
      'refused',
      `The database ${nameOf(url)} refused the connection: ${messageOf(error)}.`,
      'Check user, password, database name and rights, and the number of connections it allows.',
    );
  if (isReadOnly(error))
    return fault(
      'unwritable',
      `The database ${nameOf(url)} is read-only.`,
      'Connect to the primary, not to a replica.',
    );
  return error;
}

function poolerHint(message: string): string {
  const [, parameter] = /^unsupported startup parameter(?: in options)?: (\w+)/.exec(message) ?? [];
  if (parameter !== undefined)
    return `Add ${parameter} to ignore_startup_parameters of the pooler, or remove it from the database URL.`;
  if (message.includes('statement pooling')) return 'Set pool_mode of the pooler to transaction or session.';
  return 'Check the limits and the log of the pooler.';
}

/** `host:port/name`, without user and password. */
export function nameOf(url: string): string {
  return parseDatabaseUrl(url).name;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function severityOf(error: unknown): string {
  return error instanceof Error && 'severity' in error && typeof error.severity === 'string'
    ? error.severity
    : '';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
