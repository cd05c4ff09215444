import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

interface Manifest {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

interface Container {
  readonly env?: readonly unknown[];
}

/** A pod of one container that runs `script` in a shell; its processes carry E2E=`mark`. */
export function shellPod(
  name: string,
  mark: string,
  script: string,
  spec: Readonly<Record<string, unknown>> = {},
): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      terminationGracePeriodSeconds: 2,
      containers: [
        {
          name: 'main',
          image: 'busybox',
          command: ['sh', '-c', script],
          env: [{ name: 'E2E', value: mark }],
        },
      ],
      ...spec,
    },
  });
}

/** Ends at once when it is told to stop, and says its PID first (`$$` is Kubernetes' way to write a `$`). */
export const obedient = 'echo pid $$$$; trap "exit 0" TERM; while :; do sleep 60 & wait $!; done';

/** The repository's example manifests on another port, their processes marked. */
export function copyExamples(to: string, mark: string, port: number): void {
  const from = new URL('../../examples/manifests/', import.meta.url).pathname;
  mkdirSync(to, { recursive: true });
  for (const file of readdirSync(from)) {
    const text = readFileSync(join(from, file), 'utf8').replaceAll('18080', String(port));
    const manifest = parse(text) as Manifest;
    const marked = (containers: unknown): unknown =>
      (containers as readonly Container[] | undefined)?.map((container) => ({
        ...container,
        env: [...(container.env ?? []), { name: 'E2E', value: mark }],
      }));
    const { spec } = manifest;
    const initContainers = marked(spec['initContainers']);
    writeFileSync(
      join(to, file),
      stringify({
        ...manifest,
        spec: {
          ...spec,
          containers: marked(spec['containers']),
          ...(initContainers !== undefined && { initContainers }),
        },
      }),
    );
  }
}
