import { fieldsOf, isObject, parseOrUndefined } from '../base/fields.ts';

/** One fault of several, as the server lists them (api.md, section 2). */
export interface RemoteFault {
  line?: number;
  custom_id?: string;
  param?: string;
  code: string;
  message: string;
}

/** The server answered, and said no. */
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

/** Why `Unreachable`. */
export const untrusted = 'its certificate is signed by nobody whom this machine trusts';

/** No answer came, or it broke off. */
export class Unreachable extends Error {
  readonly url: string;
  /** It is there, and shows a certificate that nobody signed whom this machine trusts. */
  readonly isUntrusted: boolean;

  constructor(url: string, reason: string, cause?: unknown) {
    super(`${url} cannot be reached: ${reason}`, { cause });
    this.name = 'Unreachable';
    this.url = url;
    this.isUntrusted = reason === untrusted;
  }
}

/** The error an answer with a status of 400 or more stands for, whatever its body is. */
export async function toClientError(response: Response): Promise<ClientError> {
  const text = await response.text().catch(() => '');
  const requestId = response.headers.get('x-request-id');
  const { status } = response;
  const found = fieldsOf(parseOrUndefined(text)).error;
  if (!isObject(found)) {
    const what = `The server answered ${status} ${response.statusText}`.trim();
    return new ClientError(`${what}, which is not an answer of Offpeak.`, { status, requestId });
  }
  const error: RemoteError = found;
  return new ClientError(error.message ?? `status ${status}`, { status, requestId, error });
}
