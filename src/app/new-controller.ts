import { AgentError } from '../base/errors.ts';
import { defineKind, type Kind } from '../controller/index.ts';
import {
  definitionOf,
  deploymentOf,
  mainOf,
  readmeOf,
  reconcilerTemplate,
  testTemplate,
} from './new-controller-templates.ts';
import {
  conversionTemplate,
  webhookManifests,
  type WebhookParts,
  webhooksTemplate,
  webhooksTest,
} from './new-controller-webhooks.ts';
import {
  checkProjectName,
  dockerfile,
  packageJson,
  type ProjectPlace,
  tsconfig,
  writeProject,
} from './project-folder.ts';
import { parseYaml } from '../go/yaml/document.ts';
import { isObject } from '../apimachinery/json.ts';
import { typesOfDefinitions } from './schema-types.ts';

export interface NewControllerOptions extends ProjectPlace {
  /** API group, such as `cache.example.com`. */
  readonly group: string;
  /** Kind, such as `Memcached`. */
  readonly kind: string;
  /** API version, such as `v1alpha1`. */
  readonly apiVersion: string;
  /** Adds webhooks for defaults and validation. Default false. */
  readonly webhook?: boolean;
  /** Adds this older version, and a webhook that converts it. */
  readonly conversion?: string;
  /** Of podtender, for the project's dependency. */
  readonly version: string;
}

/**
 * Writes the TypeScript project of a new controller into the folder of its name, and returns the paths of its files.
 *
 * @throws {AgentError} `invalid_argument` for a name, group, kind or version that is none; `already_exists` when the folder holds something
 */
export async function newControllerProject(options: NewControllerOptions): Promise<readonly string[]> {
  const { name, group, kind, apiVersion, conversion } = options;
  checkProjectName(name, 'controller');
  check(
    '--group',
    group,
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/,
    'cache.example.com',
  );
  check('--kind', kind, /^[A-Z][A-Za-z0-9]{0,62}$/, 'Memcached');
  check('--api-version', apiVersion, versionPattern, 'v1alpha1');
  if (conversion !== undefined) check('--conversion', conversion, versionPattern, 'v1alpha1');
  if (conversion === apiVersion)
    throw new AgentError(
      'invalid_argument',
      `--conversion ${conversion} cannot be used: it must be another version than --api-version`,
    );
  return writeProject(options, filesOf(options, defineKind({ group, version: apiVersion, kind })));
}

const versionPattern = /^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$/;

function check(flag: string, value: string, pattern: RegExp, example: string): void {
  if (!pattern.test(value))
    throw new AgentError(
      'invalid_argument',
      `${flag} ${JSON.stringify(value)} cannot be used: it must look like ${example}`,
    );
}

function filesOf(options: NewControllerOptions, kind: Kind): Readonly<Record<string, string>> {
  const { name, version, webhook = false, conversion: older } = options;
  const filled = (template: string): string =>
    template
      .replaceAll('__NAME__', name)
      .replaceAll('__GROUP__', kind.group)
      .replaceAll('__GROUP_DASHES__', kind.group.replaceAll('.', '-'))
      .replaceAll('__VERSION__', kind.version)
      .replaceAll('__KIND__', kind.kind)
      .replaceAll('__SINGULAR__', kind.kind.toLowerCase())
      .replaceAll('__PLURAL__', kind.resource)
      .replaceAll('__OLDER__', older ?? '')
      .replaceAll('__OLDER_NAME__', (older ?? '').replace('v', 'V'));
  const parts: WebhookParts = { admission: webhook, older };
  const serves = webhook || older !== undefined;
  const definition = filled(definitionOf(older));
  return {
    'package.json': packageJson({
      name,
      version,
      nodeFlags,
      scripts: { generate: 'podtender generate-types config/crd.yaml --out src/types.ts' },
    }),
    'tsconfig.json': tsconfig,
    'config/crd.yaml': definition,
    'config/deploy.yaml': filled(deploymentOf(serves ? parts : undefined)),
    'src/types.ts': typesIn(definition),
    'src/reconciler.ts': filled(reconcilerTemplate),
    'src/main.ts': filled(mainOf(serves ? parts : undefined)),
    'test/reconciler.test.ts': filled(testTemplate),
    ...(serves && {
      'config/webhooks.yaml': filled(webhookManifests(parts)),
      'src/webhooks.ts': filled(webhooksTemplate(parts)),
      'test/webhooks.test.ts': filled(webhooksTest(parts)),
    }),
    ...(older !== undefined && { 'src/conversion.ts': filled(conversionTemplate) }),
    Dockerfile: dockerfile(nodeFlags),
    'README.md': filled(readmeOf(serves)),
    '.gitignore': 'node_modules/\n',
  };
}

function typesIn(definition: string): string {
  const parsed = parseYaml(definition);
  if (!parsed.ok || !isObject(parsed.document.value))
    throw new AgentError('internal', 'the definition of the new controller cannot be parsed');
  return typesOfDefinitions([parsed.document.value], 'podtender/controller');
}

/** Keeps the young generation of V8's heap small: it would grow to three times 16 MiB in a busy process, and never shrink. */
const nodeFlags = ['--max-semi-space-size=4'];
