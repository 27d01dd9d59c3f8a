import { CommanderError } from 'commander';
import { ClientError, Unreachable, type RemoteFault } from '../../client/errors.ts';
import { formatProblem } from '../../config/source-value.ts';
import { ConfigError } from '../../config/config-error.ts';
import { cleanLine } from '../terminal/clean-text.ts';
import { CliError, exitCodes, type ExitCode } from './exit-codes.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** How many faults of a file are shown one by one. */
const shownFaults = 20;

const hints: Record<string, (command: string) => string> = {
  invalid_api_key: () =>
    'Set OFFPEAK_API_KEY, pass --key-file, or log in. The first start of a server prints its first key.',
  permission_denied: (command) =>
    `Use a key with the scope that is missing: ${command} keys create --org <id> --scopes ...`,
  too_many_tasks: () =>
    'How many a batch takes is limits.requests_per_batch of the configuration of the server: raise it there, or split the file.',
  model_not_found: (command) =>
    `${command} models list shows what this server has; chat and batch run take one of them with --model.`,
};

/** Tells what went wrong, once, on stderr: a sentence, its code and request id, and what to do. Never a stack. */
export function reportError(error: unknown, terminal: Terminal, json: boolean): ExitCode {
  // Help that was asked for, or shown for want of a command.
  if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help'))
    return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  const told = toReport(error, terminal.self.command);
  if (json) {
    const { exitCode, lines, ...rest } = told;
    terminal.note(JSON.stringify({ error: { ...rest, ...(lines.length > 0 && { problems: lines }) } }));
    return exitCode;
  }
  const origin = [told.code, told.request_id && `request ${told.request_id}`].filter(Boolean).join(', ');
  const suffix = origin === '' ? '' : terminal.paintNote('dim', ` (${cleanLine(origin)})`);
  terminal.note(`${terminal.paintNote('red', 'Error:')} ${cleanLine(told.message)}${suffix}`);
  for (const line of told.lines) terminal.note(`  ${cleanLine(line)}`);
  if (told.hint !== undefined) terminal.note(cleanLine(told.hint));
  return told.exitCode;
}

interface ErrorReport {
  message: string;
  lines: string[];
  exitCode: ExitCode;
  code?: string;
  request_id?: string;
  hint?: string | undefined;
}

function toReport(error: unknown, command: string): ErrorReport {
  if (error instanceof ClientError) return toServerReport(error, command);
  if (error instanceof Unreachable) {
    const hint = error.isUntrusted
      ? 'Name the certificate of who signed it in the environment: NODE_EXTRA_CA_CERTS=ca.pem, or NODE_USE_SYSTEM_CA=1 for those of this machine.'
      : `Start a server with: ${command} serve. Or name another one with --url or OFFPEAK_URL.`;
    return { message: error.message, lines: [], exitCode: exitCodes.unreachable, hint };
  }
  if (error instanceof ConfigError) {
    const lines = error.problems.map(formatProblem);
    return { message: 'The configuration cannot be used.', lines, exitCode: exitCodes.usage };
  }
  if (error instanceof CommanderError) {
    const hint = 'Run the command with --help to see how it is used.';
    return {
      message: cleanLine(error.message.replace(/^error: /, '')),
      lines: [],
      exitCode: exitCodes.usage,
      hint,
    };
  }
  if (error instanceof Error && 'code' in error && error.code === 'ENOSPC' && !('hint' in error)) {
    const hint = 'Make room, and run the command again.';
    return { message: 'The disk is full: not all was written.', lines: [], exitCode: exitCodes.usage, hint };
  }
  const exitCode = error instanceof CliError ? error.exitCode : exitCodes.usage;
  const message = error instanceof Error ? error.message : String(error);
  const hint =
    error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : undefined;
  return {
    message: message === '' ? 'Something failed without saying why.' : message,
    lines: [],
    exitCode,
    hint,
  };
}

function toServerReport(error: ClientError, command: string): ErrorReport {
  const lines = error.faults.slice(0, shownFaults).map(formatFault);
  if (error.faults.length > shownFaults) lines.push(`... and ${error.faults.length - shownFaults} more`);
  return {
    message: error.message,
    // One fault is the message already.
    lines: lines.length === 1 && error.faults[0]?.line === undefined ? [] : lines,
    exitCode: exitCodes.usage,
    code: error.code,
    ...(error.requestId !== null && { request_id: error.requestId }),
    hint: hints[error.code]?.(command),
  };
}

/** `line 17 (a), body.model: no such model [model_not_found]`. */
export function formatFault(fault: RemoteFault): string {
  const line = fault.line === undefined ? undefined : `line ${fault.line}`;
  const label = fault.custom_id === undefined ? '' : ` (${fault.custom_id})`;
  const place = [line && line + label, fault.param].filter(Boolean).join(', ');
  return `${place === '' ? '' : `${place}: `}${fault.message} [${fault.code}]`;
}
