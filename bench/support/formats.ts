import type { Load } from './load.ts';
import { apiKey } from './offpeak.ts';

export type Format = 'chat' | 'messages' | 'responses';

const model = 'bench-alias';
const system = 'You are the harbour clerk. Answer in one sentence and name the pier.';
const question =
  'Where does the ferry to the islands leave on a Sunday in winter, and how early should I be there? '.repeat(
    2,
  );
const user = { role: 'user', content: question };
const headers = { authorization: `Bearer ${apiKey}` };
const sampling = { temperature: 0.2 };

const paths: Record<Format, string> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

const bodies: Record<Format, object> = {
  chat: { model, messages: [{ role: 'system', content: system }, user], max_tokens: 64, ...sampling },
  messages: { model, system, messages: [user], max_tokens: 64, ...sampling },
  responses: { model, instructions: system, input: [user], max_output_tokens: 64, ...sampling },
};

const streamEnds: Record<Format, string> = {
  chat: 'data: [DONE]',
  messages: 'event: message_stop',
  responses: 'event: response.completed',
};

/** Returns the same question in each format, answered at once. */
export function plain(format: Format, more: object = {}): Load {
  const body = JSON.stringify({ ...bodies[format], ...more });
  return { path: paths[format], headers, body, holds: '"usage"' };
}

/** Returns the same question, answered as a stream. */
export function streamed(format: Format): Load {
  return {
    ...plain(format, { stream: true, ...(format === 'responses' && { store: false }) }),
    holds: streamEnds[format],
  };
}
