import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { configMapResource } from '../api/resources.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { elementsBelow } from '../base/files/below.ts';
import { compileTemplate } from '../go/template/template.ts';
import { namespaceOf } from '../kube/names.ts';
import type { ConfigMap, Container, Pod } from '../kube/types.ts';
import type { ExtraMount, Middleware } from '../provider/middleware.ts';
import {
  isSelected,
  type MiddlewareContext,
  podDirOf,
  type PodSelection,
  replaceFile,
  requireClient,
} from './context.ts';

/** The annotation with the names of the configMap volumes whose files are templates, separated by commas. */
export const templateVolumesAnnotation = 'podtender.io/template-volumes';
/** The annotation with values for the templates: a JSON object. */
export const templateValuesAnnotation = 'podtender.io/template-values';

/** The settings of {@link configRender}. */
export interface ConfigRenderSettings extends PodSelection {
  /** Values for all templates; those of a pod's annotation win. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** The annotation that names the volumes. Default: {@link templateVolumesAnnotation}. */
  readonly volumesAnnotation?: string;
  /** An annotation that names a config map of values for the pod's templates; they win over all others. Default: none. */
  readonly valuesConfigMapAnnotation?: string;
}

/**
 * Renders the files of configMap volumes as templates of Go's text/template language. A pod names such volumes in the annotation
 * `podtender.io/template-volumes`; `.NAME` in a template is a value of the settings, of the annotation `podtender.io/template-values`, or a
 * variable of the container with a plain value, the later ones first. A missing value is empty. `.Pod` is the pod's metadata. The settings
 * may name another annotation of volumes, and one that names a config map of values.
 *
 * Containers get the rendered files instead of the volume, read-only. They are rendered again with each sync; a changed config map reaches
 * running containers that way, and restarts nothing.
 *
 * @example
 * const middleware = (context: MiddlewareContext) => [configRender({ values: { SITE: 'eu' } }, context)];
 */
export function configRender(settings: ConfigRenderSettings, context: MiddlewareContext): Middleware {
  const client = requireClient(context, 'configRender');
  const { rootDir } = context;
  return {
    name: 'configRender',
    mounts: async ({ pod, container, signal }) => {
      const names = isSelected(settings, pod) ? templateVolumes(pod, settings) : [];
      const mounts: ExtraMount[] = [];
      const mapOfValues = names.length > 0 ? valuesMapOf(pod, settings) : undefined;
      const values = mapOfValues === undefined ? {} : ((await requiredMap(mapOfValues)).data ?? {});
      for (const mount of container.volumeMounts ?? []) {
        if (!names.includes(mount.name)) continue;
        const dir = join(podDirOf(rootDir, pod, 'config'), container.name, mount.name);
        const source = configMapOf(pod, mount.name, settings);
        const map = source.optional === true ? await configMap(source.name) : await requiredMap(source.name);
        render(filesOf(map, source.items), {
          dir,
          values: { ...valuesOf(pod, container, settings), ...values },
          volume: mount.name,
        });
        mounts.push({
          hostPath:
            mount.subPath === undefined ? dir : join(dir, ...elementsBelow(mount.subPath, 'a subPath')),
          mountPath: mount.mountPath,
        });
      }
      return mounts.length > 0 ? mounts : undefined;

      async function requiredMap(name: string): Promise<ConfigMap> {
        const map = await configMap(name);
        if (!map) throw new AgentError('not_found', `configmap ${JSON.stringify(name)} not found`);
        return map;
      }

      async function configMap(name: string): Promise<ConfigMap | undefined> {
        try {
          return await client.get(configMapResource, { namespace: namespaceOf(pod), name }, { signal });
        } catch (reason) {
          if (AgentError.from(reason).code === 'not_found') return undefined;
          throw reason;
        }
      }
    },
  };
}

const templateVolumes = (
  { metadata }: Pod,
  { volumesAnnotation = templateVolumesAnnotation }: ConfigRenderSettings,
): readonly string[] =>
  (metadata?.annotations?.[volumesAnnotation] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

const valuesMapOf = (
  { metadata }: Pod,
  { valuesConfigMapAnnotation: annotation }: ConfigRenderSettings,
): string | undefined => (annotation === undefined ? undefined : metadata?.annotations?.[annotation]);

interface ConfigMapSource {
  readonly name: string;
  readonly optional?: boolean;
  readonly items?: readonly { readonly key: string; readonly path: string }[];
}

function configMapOf(
  pod: Pod,
  name: string,
  { volumesAnnotation = templateVolumesAnnotation }: ConfigRenderSettings,
): ConfigMapSource {
  const source = pod.spec?.volumes?.find((volume) => volume.name === name)?.configMap;
  if (source?.name !== undefined) return { ...source, name: source.name };
  throw new AgentError(
    'invalid_argument',
    `annotation ${volumesAnnotation}: ${JSON.stringify(name)} is not a configMap volume of the pod`,
  );
}

/** The templates by the path of their file. */
function filesOf(map: ConfigMap | undefined, items: ConfigMapSource['items']): ReadonlyMap<string, string> {
  const data = map?.data ?? {};
  if (!items) return new Map(Object.entries(data));
  return new Map(
    items.flatMap(({ key, path }): (readonly [string, string])[] =>
      Object.hasOwn(data, key) ? [[path, data[key] ?? '']] : [],
    ),
  );
}

function valuesOf(pod: Pod, { env = [] }: Container, { values }: ConfigRenderSettings): object {
  const text = pod.metadata?.annotations?.[templateValuesAnnotation];
  const variables = env.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value]);
  return {
    ...values,
    ...(text !== undefined && annotated(text)),
    ...(Object.fromEntries(variables) as object),
    Pod: pod.metadata ?? {},
  };
}

function annotated(text: string): object {
  const fault = (why: string): AgentError =>
    new AgentError('invalid_argument', `annotation ${templateValuesAnnotation}: ${why}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (reason) {
    throw fault(messageOf(reason));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw fault('must be a JSON object');
  return value;
}

function render(
  files: ReadonlyMap<string, string>,
  { dir, values, volume }: { readonly dir: string; readonly values: object; readonly volume: string },
): void {
  // keys that the config map has no more: their files are removed below
  const written = new Set<string>();
  for (const [path, template] of files) {
    try {
      const file = join(dir, ...elementsBelow(path, 'the path of a key'));
      replaceFile(file, compileTemplate(template, [], '')(values, {}), 0o644);
      written.add(file);
    } catch (reason) {
      throw new AgentError('invalid_argument', `volume ${volume}: ${path}: ${messageOf(reason)}`, {
        cause: reason,
      });
    }
  }
  mkdirSync(dir, { recursive: true });
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isDirectory() && !written.has(file)) rmSync(file);
  }
}
