import type { DirectKind } from '../../core/model.ts';
import { directFormats } from '../../wire/direct/direct-formats.ts';
import { parseDirectRequest } from '../../wire/direct/parse.ts';
import { requestedTier } from '../../wire/shared/service-tier.ts';
import { json } from '../answer/answer.ts';
import { answerFlex } from './flex.ts';
import { reportFields } from '../request/report-fields.ts';
import { interactiveCall } from '../route.ts';
import type { RouteRow } from './define-routes.ts';

export function directRoute(kind: DirectKind): RouteRow {
  const { endpoint, name, summary, requestSchema, responseSchema } = directFormats[kind];
  return {
    on: `POST ${endpoint}`,
    name,
    summary,
    body: requestSchema,
    answer: responseSchema,
    async handle(incoming, services) {
      const request = parseDirectRequest(kind, incoming.body.text, reportFields(services, incoming));
      if (requestedTier(request.value, incoming.caller.serviceTier) === 'flex')
        return answerFlex(incoming, services, { endpoint, body: request });
      return json(200, await services.inference.direct(kind, request, interactiveCall(incoming)));
    },
  };
}
