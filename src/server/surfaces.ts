import type { BatchRules } from '../core/batch.ts';
import type { Config } from '../core/config.ts';
import { inlineBytesWithin } from './request/batch-body.ts';
import { consoleApi } from './console/console.ts';
import type { MountedRoute, Route } from './route.ts';
import type { Surface } from './surface.ts';

type Limits = Pick<
  Config['limits'],
  'requestsPerBatch' | 'bytesPerBatch' | 'compatible' | 'bodyBytesInFlight'
>;

type Placed = Parameters<Surface['pathOf']>[0];

export interface SurfaceConfig extends Pick<Config, 'console' | 'surfaces'> {
  limits: Limits;
  batch: Pick<Config['batch'], 'endpoints' | 'compatibleEndpoints' | 'dates'>;
}

/** Surfaces of a server. The first is `/v1`, which follows the specification and also has the open routes. */
export function createSurfaces({ console, surfaces, limits, batch }: SurfaceConfig): [Surface, ...Surface[]] {
  const main: Surface = {
    pathOf: ({ path }) => path,
    createdStatus: 201,
    dates: batch.dates,
    rules: {
      endpoints: batch.endpoints,
      requests: limits.requestsPerBatch,
      bytes: limits.bytesPerBatch,
      inlineBytes: limits.bytesPerBatch,
      anyPrefix: false,
    },
  };
  const rules = compatibleRules(limits, batch.compatibleEndpoints);
  const { openai, anthropic } = surfaces;
  return [
    main,
    ...(console ? [consoleSurface(main)] : []),
    ...(openai === null ? [] : openAiSurfaces(openai, rules)),
    ...(anthropic === null ? [] : [anthropicSurface(anthropic, main, rules)]),
  ];
}

/** The routes of a surface, at its paths. */
export function routesOn(surface: Surface, routes: readonly Route[]): MountedRoute[] {
  return routes.flatMap((route): MountedRoute[] => {
    const path = surface.pathOf(route);
    return path === undefined ? [] : [{ ...route, path, endpoint: route.path, surface }];
  });
}

function compatibleRules(limits: Limits, endpoints: BatchRules['endpoints']): BatchRules {
  const { requestsPerBatch: requests, bytesPerBatch: bytes } = limits.compatible;
  // One org may hold half of the memory for bodies.
  const room = inlineBytesWithin(limits.bodyBytesInFlight / 2);
  const inlineBytes = Math.min(bytes, Math.max(limits.bytesPerBatch, room));
  return { endpoints, requests, bytes, inlineBytes, anyPrefix: false };
}

/** The API of the console, with the rights of the key of its session. */
function consoleSurface(main: Surface): Surface {
  return { ...main, pathOf: (route) => prefixed(consoleApi, route), isConsole: true };
}

function openAiSurfaces(prefix: string, rules: BatchRules): Surface[] {
  const versioned = openAiSurface(prefix, rules);
  return [versioned, azureSurface(versioned), deploymentSurface(prefix, versioned)];
}

/** The API as OpenAI's clients expect it. */
function openAiSurface(prefix: string, rules: BatchRules): Surface {
  return {
    pathOf: (route) => (isAbout(route, ['messages', 'admin']) ? undefined : prefixed(prefix, route)),
    keyHeader: 'api-key',
    createdStatus: 200,
    dates: 'unix',
    ignoresModel: true,
    rules: { ...rules, anyPrefix: true },
  };
}

/** The OpenAI surface at paths without a version, as Azure's clients write them (`/openai/batches?api-version=...`). */
function azureSurface(versioned: Surface): Surface {
  return { ...versioned, pathOf: (route) => versioned.pathOf(route)?.replace('/v1/', '/') };
}

/** Calls that Azure's clients send to a deployment: here, a model. */
const deploymentCalls = ['/chat/completions', '/completions', '/embeddings'];

/** The calls of Azure's deployments (`/openai/deployments/<model>/chat/completions?api-version=...`). */
function deploymentSurface(prefix: string, versioned: Surface): Surface {
  return {
    ...versioned,
    modelInPath: true,
    pathOf({ method, path }) {
      const call = path.slice('/v1'.length);
      const isServed = method === 'POST' && deploymentCalls.includes(call);
      return isServed ? `${prefix}/deployments/:deployment${call}` : undefined;
    },
  };
}

/** The part of the API that Anthropic's clients use. */
function anthropicSurface(prefix: string, main: Surface, rules: BatchRules): Surface {
  return {
    ...main,
    pathOf: (route) => (isAbout(route, ['messages', 'models']) ? prefixed(prefix, route) : undefined),
    keyHeader: 'x-api-key',
    errors: 'messages',
    fullUrls: prefix,
    rules,
  };
}

/** Path of a route that needs a key. */
function prefixed(prefix: string, { path, access }: Placed): string | undefined {
  return access === 'open' ? undefined : `${prefix}${path}`;
}

/** True for a route of one of these resources. */
function isAbout({ path }: Placed, resources: readonly string[]): boolean {
  return resources.includes(path.split('/')[2] ?? '');
}
