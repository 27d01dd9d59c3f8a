import { invalid } from '../../../core/errors.ts';
import type { Catalog } from '../../../core/model.ts';
import { createKeySchema, parseCreateKey, presentKey } from '../../../wire/admin/keys.ts';
import { json } from '../../answer.ts';
import { newKeySchema } from '../../openapi/answer-schemas.ts';
import { type Route, smallBody } from '../../route.ts';

/** `POST /v1/admin/keys`. The secret is in this answer and nowhere else. */
export const createKey: Route = {
  method: 'POST',
  path: '/v1/admin/keys',
  access: 'admin',
  body: smallBody,
  docs: {
    name: 'Create Key',
    summary: 'Make an API key for an org; the secret is shown once',
    tag: 'Admin',
    body: createKeySchema,
    answer: { status: 201, type: 'application/json', schema: newKeySchema },
  },
  async handle({ body }, { accounts, catalog }) {
    const { models, ...input } = parseCreateKey(body.text);
    const { apiKey, key } = await accounts.keys.create({
      ...input,
      ...(models && { models: idsOf(catalog, models) }),
    });
    return json(201, presentKey(apiKey, key));
  },
};

/** Ids of models named by id or alias. A name nobody knows would lock the key out silently. */
function idsOf(catalog: Catalog, names: string[]): string[] {
  return names.map((name, index) => {
    const model = catalog.find(name);
    if (!model) throw invalid(`models[${index}]`, 'there is no such model');
    return model.id;
  });
}
