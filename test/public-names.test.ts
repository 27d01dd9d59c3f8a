// The names that users depend on, compared with the list in public-names.txt. A name that goes, or changes, breaks scripts,
// dashboards and clients. A new name is added to the list with `OFFPEAK_RECORD=1 npx vitest run test/public-names.test.ts`.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { silentCli } from './cli/support/run-cli.ts';
import { createProgram } from '../src/cli/run.ts';
import { configKeys, environmentKeys } from '../src/config/keys.ts';
import { batchEndpoints, batchStatuses } from '../src/core/batch.ts';
import { errorCatalog } from '../src/core/errors.ts';
import { scopes } from '../src/core/org.ts';
import { waitingReasons } from '../src/core/waiting.ts';
import { deliveryStatuses, eventTypes, testEventType } from '../src/core/webhook.ts';
import { listMetrics } from './support/metric-names.ts';
import { buildOpenApi } from '../src/server/openapi/build-openapi.ts';
import { routes } from '../src/server/routes/routes.ts';

const list = fileURLToPath(new URL('public-names.txt', import.meta.url));

it('keeps every public name', async () => {
  const names = [
    ...errorNames(),
    ...configurationNames(),
    ...commandNames(await createProgram(silentCli())),
    ...callNames(),
    ...metricNames(),
    ...[...eventTypes, testEventType].map((name) => `event ${name}`),
    ...deliveryStatuses.map((name) => `delivery status ${name}`),
    ...batchStatuses.map((name) => `batch status ${name}`),
    ...batchEndpoints.map((name) => `batch endpoint ${name}`),
    ...waitingReasons.map((name) => `waiting reason ${name}`),
    ...scopes.map((name) => `scope ${name}`),
  ];
  const text = `${names.toSorted().join('\n')}\n`;
  if (process.env['OFFPEAK_RECORD'] === '1') writeFileSync(list, text);
  expect(text).toBe(readFileSync(list, 'utf8'));
});

function errorNames(): string[] {
  return Object.entries(errorCatalog).map(([code, { status, kind }]) => `error ${code} ${status} ${kind}`);
}

function configurationNames(): string[] {
  return [
    ...Object.entries(configKeys).flatMap(([section, keys]) => keys.map((key) => `key ${section}.${key}`)),
    ...Object.entries(environmentKeys).map(([variable, key]) => `variable ${variable} ${key}`),
  ];
}

function commandNames(command: Command, path: string[] = []): string[] {
  const here = [...path, command.name()];
  const name = here.join(' ');
  return [
    `command ${name}`,
    ...command.options.map(({ short = '', long = '' }) => `flag ${name} ${long} ${short}`.trim()),
    ...command.commands.flatMap((child) => commandNames(child, here)),
  ];
}

interface Operation {
  operationId: string;
  parameters: { in: string; name: string }[];
  requestBody?: unknown;
  responses: Record<string, unknown>;
}

function callNames(): string[] {
  const { paths, components } = buildOpenApi(routes, '') as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, unknown> };
  };
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const call = `call ${method.toUpperCase()} ${path}`;
      return [
        `${call} ${operation.operationId} ${Object.keys(operation.responses).join(' ')}`,
        ...operation.parameters.map((parameter) => `${call} ${parameter.in} ${parameter.name}`),
        ...propertyNames(operation.requestBody).map((property) => `${call} request ${property}`),
        ...propertyNames(operation.responses).map((property) => `${call} response ${property}`),
      ];
    }),
  );
  return [...calls, ...propertyNames(components).map((property) => `schema ${property}`)];
}

/** The names of the properties of all schemas in `node`, each once. */
function propertyNames(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const found = Object.entries(node).flatMap(([key, value]) => [
    ...(key === 'properties' ? Object.keys(value as object) : []),
    ...propertyNames(value),
  ]);
  return [...new Set(found)];
}

function metricNames(): string[] {
  return listMetrics().map(({ name, type, labelNames }) => ['metric', name, type, ...labelNames].join(' '));
}
