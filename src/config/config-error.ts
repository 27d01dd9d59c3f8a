import { type ConfigProblem, formatProblem } from './source-value.ts';

/** A configuration that cannot be used: every problem at once, each with its place. */
export class ConfigError extends Error {
  readonly problems: ConfigProblem[];

  constructor(problems: ConfigProblem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
