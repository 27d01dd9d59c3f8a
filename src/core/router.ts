import { words } from '../base/words.ts';

export const routerKinds = words('vllm llm-d generic');

/** Router in front of the servers of a model, which Offpeak sees as one server. */
export interface Router {
  kind: (typeof routerKinds)[number];
  /** Headers that name the objective of a request, by which the router orders and drops requests. */
  objectiveHeaders: readonly string[];
  /** Headers that name the org of a request, among which the router is fair. */
  fairnessHeaders: readonly string[];
  /** Objectives; none is sent if absent. */
  objectives: { interactive?: string; batch?: string };
}
