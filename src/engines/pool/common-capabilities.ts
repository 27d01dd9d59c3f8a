import type { Capabilities, Engine, ApiFormat, FormatSupport } from '../engines.ts';

export interface CapableServer {
  engine: Pick<Engine, 'capabilities'>;
  /** Nobody knows what it can, and it is sent nothing before somebody does. */
  isUnknown: boolean;
}

/**
 * What can be relied on whichever server a request comes to: what all of them can that may be sent one. It is asked for with
 * every request, and the same object until a server tells something else or there are others.
 * @param servers at least one; may change
 */
export function commonCapabilities(servers: readonly CapableServer[]): () => Capabilities {
  let known: readonly (Capabilities | null)[] = [];
  let common: Capabilities;
  const told = ({ engine, isUnknown: isUnseen }: CapableServer) => (isUnseen ? null : engine.capabilities);
  const isKnown = () =>
    known.length === servers.length && servers.every((server, at) => told(server) === known[at]);
  return () => {
    if (servers.length === 1) return servers[0]!.engine.capabilities;
    if (!isKnown()) {
      known = servers.map(told);
      const seen = known.filter((one) => one !== null);
      common = commonOf(seen.length > 0 ? seen : servers.map(({ engine }) => engine.capabilities));
    }
    return common;
  };
}

function commonOf(all: readonly Capabilities[]): Capabilities {
  const [first] = all as [Capabilities];
  const each = <K extends keyof Capabilities>(key: K) => all.map((one) => one[key]);
  const lengths = each('contextLength').filter((length) => length !== null);
  return {
    serves: first.serves.filter((one) => all.every(({ serves }) => serves.includes(one))),
    inputs: first.inputs.filter((one) => all.every(({ inputs }) => inputs.includes(one))),
    tools: !each('tools').includes(false),
    customTools: !each('customTools').some((one) => one !== true),
    contextLength: lengths.length > 0 ? Math.min(...lengths) : null,
    jsonSchema: sameOf(each('jsonSchema')) ?? (each('jsonSchema').includes('none') ? 'none' : 'native'),
    forcedTool: sameOf(each('forcedTool')) ?? forcedByAll(each('forcedTool')),
    prefixCache: sameOf(each('prefixCache')) ?? 'none',
    formats: {
      messages: spoken('messages', 'via chat'),
      responses: spoken('responses', 'via chat'),
      completions: spoken('completions', 'no'),
    },
  };

  function spoken(op: ApiFormat, otherwise: FormatSupport): FormatSupport {
    return sameOf(all.map(({ formats: speaks }) => speaks?.[op] ?? otherwise)) ?? otherwise;
  }
}

/** Every server that forces tools at all knows `required`. */
function forcedByAll(ways: readonly Capabilities['forcedTool'][]): Capabilities['forcedTool'] {
  if (ways.includes('none')) return 'none';
  return ways.includes('strict') || ways.includes('filter') ? 'filter' : 'native';
}

/** What all of them are; undefined where they differ. */
function sameOf<T>(all: readonly T[]): T | undefined {
  return all.every((one) => one === all[0]) ? all[0] : undefined;
}
