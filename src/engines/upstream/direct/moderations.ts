import { fieldsOf, isObject } from '../../../base/fields.ts';
import { moderationsFormat } from '../../../wire/moderations/format.ts';
import {
  inputCount,
  type ModerationResult,
  type Moderations,
  type ModerationsRequest,
} from '../../../wire/moderations/moderations.ts';
import { unusable } from '../connection/parse-body.ts';
import { named, object } from '../request/request-members.ts';
import { type DirectCodec, inputTokens } from './direct-codec.ts';

/** Judgements, in the forms of OpenAI and Mistral. OpenAI reports no usage. */
export const moderationsCodec: DirectCodec<ModerationsRequest, Moderations> = {
  path: 'moderations',
  members: new Map([...named('model'), ['input', object('type text', { image_url: object('url') })]]),

  expect(request) {
    const count = inputCount(request.value);
    return {
      read(answer, options) {
        const results = readResults(answer['results'], count);
        const estimate = () => moderationsFormat.inputTokens(request.value);
        return { results, promptTokens: inputTokens(answer['usage'], estimate, options) };
      },
    };
  },
};

/** @throws ApiError `invalid_upstream_response` */
function readResults(results: unknown, count: number): ModerationResult[] {
  if (!Array.isArray(results)) throw unusable('has no results');
  if (results.length !== count) throw unusable(`has ${results.length} results for ${count} inputs`);
  return results.map((result): ModerationResult => {
    const { categories, flagged } = fieldsOf(result);
    if (!isObject(categories)) throw unusable('has a result without categories');
    // Mistral has no `flagged`.
    const isFlagged = typeof flagged === 'boolean' ? flagged : Object.values(categories).includes(true);
    return { ...fieldsOf(result), categories, flagged: isFlagged };
  });
}
