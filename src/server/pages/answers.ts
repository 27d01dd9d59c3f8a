import { type Answer, bytes, jsonText } from '../answer/answer.ts';

/** A complete body, sent without a copy. HEAD gets the headers alone. */
export function text(method: string, body: string | Uint8Array, headers: Record<string, string>): Answer {
  const content = typeof body === 'string' ? Buffer.from(body) : body;
  const all = { ...headers, 'content-length': String(content.length) };
  return bytes(method === 'HEAD' ? null : once(content), all);
}

async function* once(content: Uint8Array) {
  yield content;
}

/** A redirect. `location` is relative, so that it works behind a proxy that adds a prefix to the path. */
export function moved(location: string, status: 302 | 308 = 308): Answer {
  return jsonText(status, '{}', { location });
}
