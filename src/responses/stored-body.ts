import type { ResponseEnd } from '../core/response.ts';
import type { ResponseWithoutInput } from '../store/contract/responses.ts';
import type { OutputPiece } from '../wire/responses/answer/output-builder.ts';
import type { ResponseBody } from '../wire/responses/responses.ts';

/** Response as stored. The output is separate, because continuing a response needs nothing else. */
export function toTexts(body: ResponseBody, pieces: readonly OutputPiece[] | null = null): ResponseEnd {
  return {
    status: body.status,
    output: JSON.stringify(body.output),
    body: JSON.stringify({ ...body, output: [] }),
    pieces: pieces && JSON.stringify(pieces),
  };
}

export function toBody({ body, output }: ResponseWithoutInput): ResponseBody {
  return { ...(JSON.parse(body) as ResponseBody), output: JSON.parse(output) as ResponseBody['output'] };
}
