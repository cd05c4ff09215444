import { ApiError, isNotFound } from '../../../src/api/client.ts';
import { messageOf } from '../../../src/base/errors.ts';
import type { ConfigMap, Pod, Secret } from '../../../src/kube/types.ts';
import type { Payload } from '../../../src/containers/volumes/atomic-writer.ts';
import { configMapPayload, downwardPayload, secretPayload } from '../../../src/containers/volumes/payload.ts';
import { projectedPayload } from '../../../src/containers/volumes/projected.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly kind: 'configMap' | 'secret' | 'downwardAPI' | 'projected';
  readonly configMap: ConfigMap;
  readonly secret: Secret;
  readonly items: readonly { readonly key: string; readonly path: string }[] | null;
  readonly defaultMode: number | null;
  readonly optional: boolean;
  readonly pod: Pod;
  readonly nodeAllocatable: Readonly<Record<string, string>>;
  readonly configMaps: Readonly<Record<string, ConfigMap>>;
  readonly secrets: Readonly<Record<string, Secret>>;
  readonly source: never;
  readonly mounterArgs: { readonly fsUser: number | null; readonly fsGroup: number | null };
}

function find<T>(objects: Readonly<Record<string, T>>, kind: string, name: string): Promise<T> {
  const found = objects[name];
  return found
    ? Promise.resolve(found)
    : Promise.reject(new ApiError(404, { message: `${kind} "${name}" not found` }));
}

async function run(input: Input): Promise<Payload> {
  const { defaultMode, items, optional, pod, nodeAllocatable, mounterArgs } = input;
  switch (input.kind) {
    case 'configMap':
      return configMapPayload(input.configMap, { items, defaultMode, optional });
    case 'secret':
      return secretPayload(input.secret, { items, defaultMode, optional });
    case 'downwardAPI':
      return downwardPayload(items ?? [], defaultMode, { pod, nodeAllocatable });
    case 'projected':
      return projectedPayload(input.source, {
        pod,
        nodeAllocatable,
        getConfigMap: (name) => find(input.configMaps, 'configmap', name),
        getSecret: (name) => find(input.secrets, 'secret', name),
        getToken: ({ audience, expirationSeconds }) =>
          Promise.resolve(`TOKEN(${audience ?? ''}|${expirationSeconds ?? 'nil'})`),
        getTrustBundle: () => Promise.reject(new Error('none')),
        isNotFound,
        ...(mounterArgs.fsUser !== null && { fsUser: mounterArgs.fsUser }),
        ...(mounterArgs.fsGroup !== null && { fsGroup: mounterArgs.fsGroup }),
      });
  }
}

const shown = (payload: Payload): unknown =>
  Object.fromEntries(
    Object.entries(payload).map(([path, { data, mode, uid }]) => [
      path,
      { data: Buffer.from(data).toString('base64'), mode, fsUser: uid },
    ]),
  );

export const replay: Replay = async ({ in: input, out }) => {
  const expected = out as { error: string | null; payload: unknown };
  try {
    return check(expected, { error: null, payload: shown(await run(input as Input)) }, { operation: input });
  } catch (reason) {
    // a caller drops what was collected beside a fault
    return check(expected.error, messageOf(reason), { operation: input });
  }
};
