import type { DirectKind } from '../core/model.ts';
import type { DirectRequests, DirectResults } from '../wire/direct/direct-formats.ts';
import type { JsonBody } from '../wire/json/json-body.ts';
import type { Engine, EngineCall } from './engines.ts';

type DirectHandlers = {
  [Kind in DirectKind]?: (
    request: JsonBody<DirectRequests[Kind]>,
    call: EngineCall,
  ) => Promise<DirectResults[Kind]>;
};

/** Calls of an engine that serves some direct kinds. Inference asks for no others. */
export function directCalls(handlers: DirectHandlers): Engine['direct'] {
  return async (kind, request, call) => {
    const handle = handlers[kind];
    if (!handle) throw new Error(`this engine does not serve ${kind}`);
    return handle(request, call);
  };
}
