import { apiBase } from '../../api/client.ts';

/** Request with a body that has no fixed type, such as one that a user wrote. */
export function post(path: string, body: object, signal?: AbortSignal): Request {
  return new Request(apiBase + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}
