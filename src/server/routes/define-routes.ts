import { refuseUnknownParams } from '../../wire/shared/query-params.ts';
import { type KeyScope, readScope } from '../../core/org.ts';
import type { Schema } from '../../wire/schema/schema.ts';
import type { MaxBytes, MountedRoute, Route, RouteDocs, ServerLimits } from '../route.ts';

/** Route definition with defaults for the fields that most routes share. */
export interface RouteRow extends Pick<
  RouteDocs,
  'name' | 'summary' | 'query' | 'orType' | 'otherAnswer' | 'optionalBody'
> {
  /** Method and path, such as `GET /v1/files/:file_id`. */
  on: `${MountedRoute['method']} ${string}`;
  /** Default: the access of the group; of a GET route, the part that only reads. */
  access?: KeyScope;
  /** Default: the tag of the group. */
  tag?: RouteDocs['tag'];
  /** Rejects parameters that are not in `query`, except those that clients of other services add to every call. */
  strictQuery?: true;
  /** Schema of the JSON body. */
  body?: Schema;
  /** Default: `limits.bodyBytes`. */
  maxBytes?: MaxBytes;
  /** Schema of the multipart body, instead of `body`. */
  form?: Schema;
  /** Schema of a success, by default 200 and JSON. */
  answer?: Schema;
  status?: 201;
  type?: RouteDocs['answer']['type'];
  handle: MountedRoute['handle'];
}

/** Path parameters that are ids. Orgs are also found by name. */
const ids: Readonly<Record<string, MountedRoute['id']>> = {
  batch_id: { prefix: 'batch_', what: 'batch' },
  message_batch_id: { prefix: 'batch_', what: 'batch' },
  file_id: { prefix: 'file-', what: 'file' },
  response_id: { prefix: 'resp_', what: 'response' },
  conversation_id: { prefix: 'conv_', what: 'conversation' },
  completion_id: { prefix: 'chatcmpl_', what: 'chat completion' },
  webhook_id: { prefix: 'wh_', what: 'webhook' },
  action_id: { prefix: 'act_', what: 'action' },
  delivery_id: { prefix: 'dlv_', what: 'delivery' },
  replica_id: { prefix: 'rep_', what: 'replica' },
  key_id: { prefix: 'key_', what: 'key' },
};

/** Limit in bytes for bodies with a few fields. */
export const smallBody = (): number => 65_536;
const defaultBody = (limits: ServerLimits): number => limits.bodyBytes;

export function defineRoutes(
  group: Pick<Route, 'access'> & Pick<RouteDocs, 'tag'>,
  rows: readonly RouteRow[],
): Route[] {
  return rows.map((row) => {
    const {
      on,
      access: own,
      body,
      maxBytes = defaultBody,
      form,
      answer,
      status,
      type,
      strictQuery,
      ...rest
    } = row;
    const { handle: given, ...docs } = rest;
    const names = Object.keys(docs.query ?? {});
    const handle: MountedRoute['handle'] = async (incoming, services) => {
      refuseUnknownParams(incoming.query, names);
      return given(incoming, services);
    };
    const [method, path] = on.split(' ') as [MountedRoute['method'], string];
    const access = own ?? (method === 'GET' ? readAccess(group.access) : group.access);
    const id = ids[/:(\w+)/.exec(path)?.[1] ?? ''];
    return {
      method,
      path,
      access,
      ...(id && { id }),
      ...(form && { body: 'multipart' }),
      ...(body && { body: { maxBytes, optional: rest.optionalBody === true } }),
      docs: {
        tag: group.tag,
        ...docs,
        body: body ?? form,
        answer: { status: status ?? 200, type: type ?? 'application/json', schema: answer },
      },
      handle: strictQuery ? handle : given,
    };
  });
}

function readAccess(access: Route['access']): Route['access'] {
  return access === 'key' || access === 'open' ? access : readScope(access);
}
