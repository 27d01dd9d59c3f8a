import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config.ts';
import { listMetrics } from '../support/metric-names.ts';
import { documents, helmVersion, type Manifest, renderChart, runHelm } from './chart.ts';
import { deployFolder } from './queries.ts';

// The chart in deploy/helm, rendered by Helm and checked against the fields of Kubernetes, and the manifests beside it.

const read = (path: string) => readFileSync(join(deployFolder, path), 'utf8');

const { kinds, definitions } = JSON.parse(
  readFileSync(new URL('kubernetes-schemas.json', import.meta.url), 'utf8'),
);
const ajv = new Ajv({ strict: false, allErrors: true });

/** Faults of a manifest: fields that its kind does not have, and wrong types. */
function faults(manifest: Manifest): string[] {
  const schema = kinds[`${manifest.apiVersion}/${manifest.kind}`];
  if (!schema) return [`unknown kind ${manifest.apiVersion}/${manifest.kind}`];
  const check = ajv.compile({ ...schema, definitions });
  if (check(manifest)) return [];
  return check.errors!.map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  );
}

/** Metrics that the triggers of KEDA read. */
function metricsOf(manifest: Manifest): string[] {
  if (manifest.kind !== 'ScaledObject') return [];
  return manifest.spec.triggers.flatMap(
    ({ metadata }: { metadata: Record<string, string> }) => metadata.valueLocation?.split('{')[0] ?? [],
  );
}

const known = listMetrics().map(({ name }) => name);

describe('deploy/kubernetes-vllm.yaml', () => {
  const manifests = documents(read('kubernetes-vllm.yaml'));

  it('has fields of Kubernetes and KEDA alone', () => {
    expect(manifests.map(({ kind }) => kind)).toEqual(['Deployment', 'Service', 'ScaledObject']);
    expect(manifests.flatMap(faults)).toEqual([]);
  });

  it('scales by a metric that exists', () => {
    const used = manifests.flatMap(metricsOf);
    expect(used).toEqual(['offpeak_needed_tokens_per_second']);
    expect(known).toEqual(expect.arrayContaining(used));
  });
});

describe('the check of manifests', () => {
  it('sees a misspelt field, a wrong type and an unknown kind', () => {
    const [deployment] = documents(read('kubernetes-vllm.yaml'));
    const container = deployment!.spec.template.spec.containers[0];
    container.readinesProbe = container.readinessProbe;
    deployment!.spec.replicas = 'two';
    const found = faults(deployment!).join('\n');
    expect(found).toContain('/spec/replicas must be integer');
    expect(found).toContain('readinesProbe');
    expect(faults({ ...deployment!, kind: 'Deploy' })).toEqual(['unknown kind apps/v1/Deploy']);
  });
});

if (helmVersion === undefined) it.skip('the chart (skipped: "helm" is not on the PATH)', () => {});

describe.runIf(helmVersion !== undefined)('the chart', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'offpeak-helm-'));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  const least = { database: { secret: { name: 'postgres' } }, files: 's3://bucket/offpeak' };

  const render = (values: object = {}) => renderChart({ ...least, ...values });

  const one = (manifests: Manifest[], kind: string, name: string) =>
    manifests.find((each) => each.kind === kind && each.metadata.name === name)!;
  const container = (manifest: Manifest) => manifest.spec.template.spec.containers[0];

  it('is accepted by helm lint', () => {
    expect(runHelm('lint', least).stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  const everything = {
    config: { limits: { stored_bytes_per_org: 1e9 } },
    env: [{ name: 'OFFPEAK_ADMIN_KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'admin' } } }],
    extraVolumes: [{ name: 'ca', secret: { secretName: 'ca' } }],
    extraVolumeMounts: [{ name: 'ca', mountPath: '/ca', readOnly: true }],
    image: { pullSecrets: [{ name: 'registry' }] },
    api: {
      autoscaling: { enabled: true },
      nodeSelector: { pool: 'general' },
      tolerations: [{ key: 'night', operator: 'Exists' }],
      affinity: { podAntiAffinity: {} },
      podAnnotations: { team: 'a' },
    },
    worker: { keda: { enabled: true, minReplicas: 0 } },
    ingress: { enabled: true, host: 'offpeak.example', className: 'nginx', tlsSecret: 'tls' },
    metrics: { orgs: 5, serviceMonitor: { enabled: true, labels: { release: 'prometheus' } } },
    networkPolicy: {
      from: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
      egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }],
    },
    serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/offpeak' } },
    service: { type: 'LoadBalancer', port: 8080, annotations: { a: 'b' } },
  };

  it.each([
    ['the least values', {}],
    ['everything on', everything],
    [
      'everything off',
      { networkPolicy: { enabled: false }, migration: { enabled: false }, serviceAccount: { create: false } },
    ],
  ])('has fields of Kubernetes, KEDA and the Prometheus Operator alone, with %s', (_, values) => {
    const manifests = render(values);
    expect(manifests.flatMap((each) => faults(each).map((fault) => `${each.kind}: ${fault}`))).toEqual([]);
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names).toEqual([...new Set(names)]);
  });

  it('takes the values of docs/kubernetes.md', () => {
    const [, values = ''] = /```yaml\n# values.yaml\n([^`]*)```/.exec(read('../docs/kubernetes.md')) ?? [];
    const manifests = render(parse(values));
    expect(manifests.flatMap(faults)).toEqual([]);
    expect(container(one(manifests, 'Deployment', 'night-offpeak-api')).env).toHaveLength(5);
  });

  it('gives the processes a configuration that they accept', () => {
    const manifests = render({ config: { limits: { open_batches_per_org: 5 } } });
    const text = one(manifests, 'ConfigMap', 'night-offpeak').data['offpeak.yaml'];
    expect(parse(text)).toMatchObject({
      metrics: { host: '0.0.0.0', port: 9464 },
      limits: { open_batches_per_org: 5 },
    });
    const path = join(folder, 'offpeak.yaml');
    writeFileSync(path, text);
    const env = {
      OFFPEAK_DATABASE: 'postgres://offpeak@database/offpeak',
      OFFPEAK_FILES: 's3://bucket/offpeak',
      AWS_ACCESS_KEY_ID: 'key',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_REGION: 'eu-central-1',
    };
    expect(loadConfig({ flags: { config: path }, env })).toMatchObject({
      database: env.OFFPEAK_DATABASE,
      files: { bucket: { bucket: 'bucket', prefix: 'offpeak/' } },
      metrics: { port: 9464 },
      limits: { openBatchesPerOrg: 5 },
    });
  });

  it('runs each role with the same rights, probes and secrets, and a migration before them', () => {
    const manifests = render(everything);
    const job = one(manifests, 'Job', 'night-offpeak-migrate');
    for (const role of ['api', 'worker']) {
      const { args, env, securityContext, readinessProbe } = container(
        one(manifests, 'Deployment', `night-offpeak-${role}`),
      );
      expect(args.slice(0, 3)).toEqual(['serve', '--role', role]);
      expect(env).toEqual(container(job).env);
      expect(securityContext).toMatchObject({
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(readinessProbe.httpGet.path).toBe('/readyz');
    }
    expect(container(job).args[0]).toBe('migrate');
    expect(job.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    const [database] = container(job).env;
    expect(database).toEqual({
      name: 'OFFPEAK_DATABASE',
      valueFrom: { secretKeyRef: { name: 'postgres', key: 'url' } },
    });
  });

  it('leaves the number of pods to the autoscalers that are on', () => {
    const plain = render({ api: { replicas: 3 } });
    expect(one(plain, 'Deployment', 'night-offpeak-api').spec.replicas).toBe(3);
    const scaled = render(everything);
    for (const role of ['api', 'worker'])
      expect(one(scaled, 'Deployment', `night-offpeak-${role}`).spec).not.toHaveProperty('replicas');
    expect(one(scaled, 'ScaledObject', 'night-offpeak-worker').spec.minReplicaCount).toBe(0);
  });

  it('scales by a metric that exists, at an address that the chart serves', () => {
    const manifests = render(everything);
    const object = one(manifests, 'ScaledObject', 'night-offpeak-worker');
    expect(known).toEqual(expect.arrayContaining(metricsOf(object)));
    const { host, port } = new URL(object.spec.triggers[0].metadata.url);
    const service = one(manifests, 'Service', host.split('.')[0]!);
    expect(host.split('.')[1]).toMatch(/^batch/);
    expect(service.spec.ports[0].port).toBe(Number(port));
  });

  it('stops processes after their drain', () => {
    const { spec } = one(render(), 'Deployment', 'night-offpeak-api').spec.template;
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(5 + 25);
  });

  it.each([
    ['no database', { database: {} }, 'database.secret.name'],
    ['no bucket', { files: '' }, 'Set files to the bucket'],
    ['a folder as bucket', { files: '/data' }, 'files'],
    ['a misspelt value', { apis: {} }, 'apis'],
    ['a misspelt value within', { api: { replica: 2 } }, 'replica'],
    ['the database in the configuration', { config: { database: 'sqlite' } }, 'config'],
    ['a port in the configuration', { config: { server: { port: 9090 } } }, 'config'],
    ['a role in the configuration', { config: { role: 'all' } }, 'config'],
    ['an ingress without a host', { ingress: { enabled: true } }, 'ingress.host'],
  ])('refuses %s', (_, values, names) => {
    const { status, stderr } = runHelm('template', { ...least, ...values });
    expect(status).not.toBe(0);
    expect(stderr).toContain(names);
  });
});
