import type { Answered, ResponseEnd } from '../store/contract/responses.ts';
import type { Piece } from '../wire/responses/answer/output-builder.ts';
import type { ResponseBody } from '../wire/responses/responses.ts';

/** A response as it is stored: its output apart, because going on from it needs nothing else. */
export function textsOf(body: ResponseBody, pieces: readonly Piece[] | null = null): ResponseEnd {
  return {
    status: body.status,
    output: JSON.stringify(body.output),
    body: JSON.stringify({ ...body, output: [] }),
    pieces: pieces && JSON.stringify(pieces),
  };
}

/** The response as clients see it. */
export function bodyOf({ body, output }: Answered): ResponseBody {
  return { ...(JSON.parse(body) as ResponseBody), output: JSON.parse(output) as ResponseBody['output'] };
}
