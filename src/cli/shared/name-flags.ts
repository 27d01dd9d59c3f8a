import type { Option } from 'commander';
import { ClientError, type RemoteFault } from '../../client/errors.ts';

/** Flags of fields of a request whose names differ. */
const flagNames: Record<string, string> = {
  org_id: 'org',
  expires_at: 'expires',
  limits: 'limit',
  url: 'to',
  event_types: 'events',
};

/** Error of the server in the terms of the command: `--limit open_batches` instead of `limits.open_batches`. */
export function nameFlags(error: unknown, options: readonly Option[]): unknown {
  if (!(error instanceof ClientError)) return error;
  const { status, requestId, code } = error;
  let { message } = error;
  const faults = error.faults.map((fault): RemoteFault => {
    const flag = fault.param === undefined ? undefined : flagOf(fault.param, options);
    if (flag === undefined) return fault;
    message = message.replace(`${fault.param}: `, `${flag}: `);
    return { ...fault, param: flag };
  });
  return new ClientError(message, { status, requestId, error: { code, details: { errors: faults } } });
}

function flagOf(param: string, options: readonly Option[]): string | undefined {
  const [, root = '', path = ''] = /^(\w+)(?:\[\d+\])?\.?(.*)$/.exec(param) ?? [];
  const long = `--${flagNames[root] ?? root.replaceAll('_', '-')}`;
  if (!options.some((option) => option.long === long)) return undefined;
  return path === '' ? long : `${long} ${path}`;
}
