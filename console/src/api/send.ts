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
  if (isProxyError(response)) {
    setConnected(false);
    throw unreachable();
  }
  setConnected(true);
  if (response.status === 401) onSessionEnded();
  return response;
}

/** True for the answer of a reverse proxy in place of the server, whose errors are JSON. */
function isProxyError({ status, headers }: Response): boolean {
  return status >= 502 && status <= 504 && !headers.get('content-type')?.includes('json');
}

/** Answer as JSON. @throws ApiFailure */
export async function sendJson<T>(request: Request): Promise<T> {
  const response = await send(request);
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw toFailure(response.status, body);
  return body as T;
}

interface Upload {
  path: string;
  form: FormData;
  headers: Readonly<Record<string, string>>;
  /** Called with the bytes that were sent, of the form. */
  onProgress: (sent: number) => void;
  signal: AbortSignal;
}

/** Sends a form and reports its progress, which `fetch` cannot. @throws ApiFailure, or the reason of `signal` */
export function sendForm<T>({ path, form, headers, onProgress, signal }: Upload): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    const stop = () => request.abort();
    signal.addEventListener('abort', stop, { once: true });
    const end = (settle: () => void) => {
      signal.removeEventListener('abort', stop);
      settle();
    };
    request.open('POST', path);
    request.responseType = 'json';
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded));
    request.addEventListener('load', () => {
      setConnected(true);
      if (request.status === 401) onSessionEnded();
      const isOk = request.status >= 200 && request.status < 300;
      end(() =>
        isOk ? resolve(request.response as T) : reject(toFailure(request.status, request.response)),
      );
    });
    request.addEventListener('error', () => {
      setConnected(false);
      end(() => reject(unreachable()));
    });
    request.addEventListener('abort', () => end(() => reject(signal.reason as Error)));
    request.send(form);
  });
}
