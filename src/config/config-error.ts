import { type Problem, formatProblem } from '../base/located.ts';

/** A configuration that cannot be used: every problem at once, each with its place. */
export class ConfigError extends Error {
  readonly problems: Problem[];

  constructor(problems: Problem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
