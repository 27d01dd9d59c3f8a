import type { ErrorObject } from '../errors/error-body.ts';
import { lineText } from '../json/line-text.ts';

const beforeBody = '"body":';
const afterBody = '},"error":null}';

/** Line of an output file. */
export interface OutputLine {
  /** `req_<batch>_<line>`, the id of the line and of its response. */
  id: string;
  customId: string;
  /** Response body, or its JSON text. */
  body: object | string;
}

export interface ErrorLine {
  id: string;
  /** Null only if the input was lost. */
  customId: string | null;
  /** Answer of the engine, if there is one. */
  response: { statusCode: number; body: unknown } | null;
  error: ErrorObject & { attempts: number; retryable: boolean };
}

export function outputLine({ id, customId, body }: OutputLine): string {
  const response = { status_code: 200, request_id: id, body };
  if (typeof body !== 'string')
    return lineText(JSON.stringify({ id, custom_id: customId, response, error: null }));
  // Line breaks are only between tokens.
  const text = body.replaceAll(/[\r\n]+/g, ' ');
  const head = JSON.stringify({ id, custom_id: customId, response: { ...response, body: null } });
  return lineText(`${head.slice(0, -'null}}'.length)}${text}${afterBody}`);
}

/** JSON text of the response body in an output line that `outputLine` has made for a custom_id without quotes. */
export function bodyOfOutput(line: string): string {
  return line.slice(line.indexOf(beforeBody) + beforeBody.length, -afterBody.length);
}

export function errorLine({ id, customId, response, error }: ErrorLine): string {
  return lineText(
    JSON.stringify({
      id,
      custom_id: customId,
      response: response && { status_code: response.statusCode, request_id: id, body: response.body },
      error: {
        code: error.code,
        message: error.message,
        type: error.type,
        param: error.param,
        attempts: error.attempts,
        retryable: error.retryable,
      },
    }),
  );
}
