import { fieldsOf, isObject, parseOrUndefined } from '../base/fields.ts';

/** Entry of `error.details.errors`. */
export interface RemoteFault {
  line?: number;
  custom_id?: string;
  param?: string;
  code: string;
  message: string;
}

/** Error answer of the server. */
export class ClientError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly faults: RemoteFault[];

  constructor(message: string, answer: { status: number; requestId: string | null; error?: RemoteError }) {
    super(message);
    this.name = 'ClientError';
    this.status = answer.status;
    this.code = answer.error?.code ?? 'unknown';
    this.requestId = answer.requestId;
    this.faults = answer.error?.details?.errors ?? [];
  }
}

export interface RemoteError {
  code?: string | null;
  message?: string;
  details?: { errors?: RemoteFault[] } | null;
}

export const untrusted = 'its certificate is signed by an unknown authority';

/** Missing or incomplete answer. */
export class Unreachable extends Error {
  readonly url: string;
  /** True when the certificate of the server is not trusted. */
  readonly isUntrusted: boolean;

  constructor(url: string, reason: string, cause?: unknown) {
    super(`${url} cannot be reached: ${reason}`, { cause });
    this.name = 'Unreachable';
    this.url = url;
    this.isUntrusted = reason === untrusted;
  }
}

/** Error for an answer with a status of 400 or more and any body. */
export async function toClientError(response: Response): Promise<ClientError> {
  const text = await response.text().catch(() => '');
  const requestId = response.headers.get('x-request-id');
  const { status } = response;
  const found = fieldsOf(parseOrUndefined(text)).error;
  if (!isObject(found)) {
    const what = `The server answered ${status} ${response.statusText}`.trim();
    return new ClientError(`${what}, which is not an Offpeak answer. Check the URL.`, { status, requestId });
  }
  const error: RemoteError = found;
  return new ClientError(error.message ?? `status ${status}`, { status, requestId, error });
}
