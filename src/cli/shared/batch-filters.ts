import { Option } from 'commander';

/** Filters of the lists of batches, as given on the command line. */
export interface BatchFilters {
  search?: string;
  model?: string;
  status?: string;
  waiting?: string;
  atRisk?: boolean;
  createdAfter?: string;
  createdBefore?: string;
}

export const batchFilterOptions = (): Option[] => [
  new Option(
    '--search <words>',
    'only batches whose id, input file name or metadata values contain these words',
  ),
  new Option('--model <model>', 'only batches with requests to this model'),
  new Option('--status <status>', 'only batches in this state'),
  new Option('--waiting <reason>', 'only batches that wait for this reason, or for any'),
  new Option('--at-risk', 'only batches at risk of missing their window'),
  new Option('--created-after <time>', 'only batches created at or after this time'),
  new Option('--created-before <time>', 'only batches created before this time'),
];

/** Filters as parameters of the API. */
export function filterQuery(filters: BatchFilters) {
  const { search, model, status, waiting, atRisk, createdAfter, createdBefore } = filters;
  return {
    q: search,
    model,
    status,
    waiting,
    at_risk: atRisk === true ? 'true' : undefined,
    created_after: createdAfter,
    created_before: createdBefore,
  };
}
