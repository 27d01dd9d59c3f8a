import { setConnected } from './connection.ts';
import { toFailure, unreachable } from './failure.ts';

let onSessionEnded = () => {};

/** Sets what happens when the server no longer knows the session. */
export function whenSessionEnds(handler: () => void): void {
  onSessionEnded = handler;
}

/** `fetch` that notes whether the server answers, and whether the session has ended. */
export async function send(request: Request): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    setConnected(false);
    throw unreachable();
  }
  setConnected(true);
  if (response.status === 401) onSessionEnded();
  return response;
}

/** Answer as JSON. @throws ApiFailure */
export async function sendJson<T>(request: Request): Promise<T> {
  const response = await send(request);
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw toFailure(response.status, body);
  return body as T;
}
