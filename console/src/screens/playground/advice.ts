import { ApiFailure } from '../../api/failure.ts';

const byCode: Readonly<Record<string, string>> = {
  unreachable: 'Check that the server runs, then send again.',
  session_ended: 'Sign in again.',
  budget_exceeded: 'Raise the budget of the org, or wait until it is renewed.',
  model_not_found: 'Choose another model.',
  model_not_allowed: 'Choose another model, or sign in with a key that may use this one.',
  permission_denied: 'Sign in with a key that has the scope inference.',
  context_length_exceeded: 'Shorten the messages, or lower the maximum of tokens.',
  schema_not_met: 'Simplify the schema, raise the maximum of tokens, or choose another model.',
  tool_not_called: 'Describe the tool better, or choose another model.',
};

/** Advice about a failed request, in one sentence; undefined where the message says it. */
export function adviceFor(error: Error): string | undefined {
  if (!(error instanceof ApiFailure)) return 'The connection was lost during the answer. Send again.';
  const { code, status } = error;
  if (byCode[code] !== undefined) return byCode[code];
  if (status === 422 || status === 400) return 'Change the request as the message says.';
  if (status === 429) return 'Wait a moment, then send again.';
  if (status >= 500 || status === 0)
    return 'Send again. If it fails again, look at the engines on the overview, or show the operator the request ID.';
  return undefined;
}
