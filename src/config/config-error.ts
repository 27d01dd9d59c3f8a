import { type ConfigProblem, formatProblem } from './source-value.ts';

/** Invalid configuration, with all problems and their locations. */
export class ConfigError extends Error {
  readonly problems: ConfigProblem[];

  constructor(problems: ConfigProblem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
