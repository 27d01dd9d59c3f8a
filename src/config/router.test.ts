import { expect, it } from 'vitest';
import { routerOf } from './router.ts';
import { createChecker } from './source-value.ts';
import { parseSourceYaml } from './source-yaml.ts';

function read(text: string) {
  const check = createChecker();
  const root = parseSourceYaml(`router: ${text}\n`, 'a.yaml', () => undefined, check);
  const found = routerOf(check.object(root, ['router']).router!, check);
  return { found, problems: check.problems.map(({ message }) => message) };
}

it('knows the headers of llm-d, under the names of all its versions', () => {
  expect(read('{ kind: llm-d, batch: sheddable }')).toEqual({
    problems: [],
    found: {
      kind: 'llm-d',
      objectiveHeaders: ['x-llm-d-inference-objective', 'x-gateway-inference-objective'],
      fairnessHeaders: ['x-llm-d-inference-fairness-id', 'x-gateway-inference-fairness-id'],
      objectives: { batch: 'sheddable' },
    },
  });
});

it('tells other routers nothing, unless headers are named', () => {
  const none = { objectiveHeaders: [], fairnessHeaders: [], objectives: {} };
  expect(read('vllm').found).toEqual({ kind: 'vllm', ...none });
  expect(read('{ kind: generic, objective_headers: [X-Class], interactive: gold, batch: bulk }')).toEqual({
    problems: [],
    found: {
      kind: 'generic',
      objectiveHeaders: ['x-class'],
      fairnessHeaders: [],
      objectives: { interactive: 'gold', batch: 'bulk' },
    },
  });
});

it.each([
  ['envoy', 'must be one of vllm, llm-d, generic'],
  ['{ batch: bulk }', 'needs a kind'],
  ['{ kind: vllm, batch: bulk }', 'a router of kind vllm reads no objective'],
  ['{ kind: llm-d, batch: two words }', 'must be a name without spaces'],
  ['{ kind: generic, fairness_headers: ["a b"] }', 'is not a valid header name'],
  ['{ kind: llm-d, objective: a }', 'unknown key'],
])('refuses %s', (text, problem) => {
  expect(read(text).problems.join('\n')).toContain(problem);
});
