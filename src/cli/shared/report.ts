import { CommanderError } from 'commander';
import { ClientError, Unreachable, type RemoteFault } from '../../client/errors.ts';
import { ConfigError, formatProblem } from '../../config/source-value.ts';
import { cleanLine } from '../terminal/clean-text.ts';
import { CliError, exitCodes, type ExitCode } from './exit-codes.ts';
import type { Cli } from './cli.ts';

const maxFaults = 20;

/** Command to name in hints, and the key that was used. */
interface HintContext {
  command: string;
  usesAdminKey: boolean;
}

const hints: Record<string, (context: HintContext, message: string) => string | undefined> = {
  invalid_api_key: ({ usesAdminKey }) =>
    usesAdminKey
      ? 'Set OFFPEAK_ADMIN_KEY, or pass --key-file. A server prints its first admin key at its first start.'
      : 'Set OFFPEAK_API_KEY, pass --key-file, or log in. A server prints its first key at its first start.',
  permission_denied({ command, usesAdminKey }, message) {
    const scope = /lacks the scope "([\w:]+)"/.exec(message)?.[1];
    if (scope === undefined) return undefined;
    if (usesAdminKey) return 'Set OFFPEAK_ADMIN_KEY to an admin key, or pass one with --key-file.';
    return `Use a key with this scope: ${command} keys create --org <org> --scopes ${scope}`;
  },
  too_many_tasks: () =>
    'Split the file, or raise limits.requests_per_batch in the configuration of the server.',
  model_not_found: ({ command }) =>
    `To see the models of this server: ${command} models list. Select one with --model in chat and batch run.`,
};

/** Prints an error to stderr: a sentence, its code, request id and a hint, but never a stack. */
export function reportError(
  error: unknown,
  { terminal, usesAdminKey = false }: Pick<Cli, 'terminal' | 'usesAdminKey'>,
  json: boolean,
): ExitCode {
  // Commander has printed the help, on request or for a missing command.
  if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help'))
    return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  const report = toReport(error, { command: terminal.self.command, usesAdminKey });
  if (json) {
    const { exitCode, lines, ...rest } = report;
    terminal.note(JSON.stringify({ error: { ...rest, ...(lines.length > 0 && { problems: lines }) } }));
    return exitCode;
  }
  const origin = [report.code, report.request_id && `request ${report.request_id}`]
    .filter(Boolean)
    .join(', ');
  const suffix = origin === '' ? '' : terminal.paintNote('dim', ` (${cleanLine(origin)})`);
  terminal.note(`${terminal.paintNote('red', 'Error:')} ${cleanLine(report.message)}${suffix}`);
  for (const line of report.lines) terminal.note(`  ${cleanLine(line)}`);
  if (report.hint !== undefined) terminal.note(cleanLine(report.hint));
  return report.exitCode;
}

interface ErrorReport {
  message: string;
  lines: string[];
  exitCode: ExitCode;
  code?: string;
  request_id?: string;
  hint?: string | undefined;
}

function toReport(error: unknown, context: HintContext): ErrorReport {
  const { command } = context;
  if (error instanceof ClientError) return toServerReport(error, context);
  if (error instanceof Unreachable) {
    const hint = error.isUntrusted
      ? 'Trust its authority with NODE_EXTRA_CA_CERTS=ca.pem, or the authorities of this machine with NODE_USE_SYSTEM_CA=1.'
      : `Start a server with: ${command} serve. Or set another one with --url or OFFPEAK_URL.`;
    return { message: error.message, lines: [], exitCode: exitCodes.unreachable, hint };
  }
  if (error instanceof ConfigError) {
    const lines = error.problems.map(formatProblem);
    return { message: 'The configuration is invalid.', lines, exitCode: exitCodes.usage };
  }
  if (error instanceof CommanderError) {
    const message = cleanLine(error.message.replace(/^error: /, ''));
    const hint = 'Run the command with --help for its usage.';
    return { message, lines: [], exitCode: exitCodes.usage, hint };
  }
  if (error instanceof Error && 'code' in error && error.code === 'ENOSPC' && !('hint' in error)) {
    const message = 'The disk is full: the output is incomplete.';
    const hint = 'Free some space and run the command again.';
    return { message, lines: [], exitCode: exitCodes.usage, hint };
  }
  const exitCode = error instanceof CliError ? error.exitCode : exitCodes.usage;
  const message = error instanceof Error ? error.message : String(error);
  const hint =
    error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined;
  const lines = error instanceof CliError ? [...error.lines] : [];
  return { message: message === '' ? 'Unknown error.' : message, lines, exitCode, hint };
}

function toServerReport(error: ClientError, context: HintContext): ErrorReport {
  const lines = error.faults.slice(0, maxFaults).map(formatFault);
  if (error.faults.length > maxFaults) lines.push(`... and ${error.faults.length - maxFaults} more`);
  return {
    message: error.message,
    // The message already states a single fault.
    lines: lines.length === 1 && error.faults[0]?.line === undefined ? [] : lines,
    exitCode: exitCodes.usage,
    code: error.code,
    ...(error.requestId !== null && { request_id: error.requestId }),
    hint: hints[error.code]?.(context, error.message),
  };
}

/** Fault as `line 17 (a), body.model: no such model [model_not_found]`. */
export function formatFault(fault: RemoteFault): string {
  const line = fault.line === undefined ? undefined : `line ${fault.line}`;
  const label = fault.custom_id === undefined ? '' : ` (${fault.custom_id})`;
  const place = [line && line + label, fault.param].filter(Boolean).join(', ');
  return `${place === '' ? '' : `${place}: `}${fault.message} [${fault.code}]`;
}
