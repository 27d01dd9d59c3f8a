/** Failed call of the API. */
export class ApiFailure extends Error {
  /** HTTP status; 0 if the server did not answer. */
  readonly status: number;
  /** Code of the error (docs/errors.md); `unreachable` if the server did not answer. */
  readonly code: string;
  readonly requestId: string | null;

  constructor(message: string, about: { status: number; code: string; requestId: string | null }) {
    super(message);
    this.name = 'ApiFailure';
    this.status = about.status;
    this.code = about.code;
    this.requestId = about.requestId;
  }
}

/** Failure for the body of an error answer, which may come from a proxy and have any form. */
export function toFailure(status: number, body: unknown): ApiFailure {
  const { error, request_id: requestId } = Object(body) as { error?: unknown; request_id?: unknown };
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  return new ApiFailure(
    typeof message === 'string' ? message : `The server answered with status ${status}.`,
    {
      status,
      code: typeof code === 'string' ? code : 'unknown',
      requestId: typeof requestId === 'string' ? requestId : null,
    },
  );
}

export function unreachable(): ApiFailure {
  return new ApiFailure('The server does not answer.', { status: 0, code: 'unreachable', requestId: null });
}

/** True where the same call may succeed later. */
export function isTemporary(error: unknown): boolean {
  return !(error instanceof ApiFailure) || error.status === 0 || error.status === 429 || error.status >= 500;
}
