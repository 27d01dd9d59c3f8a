import { type Answer, bytes, jsonText } from '../answer.ts';

/** A body that is there as a whole, bytes as they are and not a copy for each who asks; HEAD gets its headers alone. */
export function text(method: string, body: string | Uint8Array, headers: Record<string, string>): Answer {
  const content = typeof body === 'string' ? Buffer.from(body) : body;
  const all = { ...headers, 'content-length': String(content.length) };
  return bytes(method === 'HEAD' ? null : once(content), all);
}

async function* once(content: Uint8Array) {
  yield content;
}

/** Relative, so that it holds behind a proxy that puts something before the path. */
export function moved(location: string, status: 302 | 308 = 308): Answer {
  return jsonText(status, '{}', { location });
}
