import { readFileSync } from 'node:fs';
import { plainConnection } from '../api/kubeconfig/plain-kubeconfig.ts';
import { createApiClient } from '../api/rest/http-client.ts';
import {
  type AuthorizationModeName,
  authorizationModes,
  type AuthorizationWebhook,
  type EmbeddedApiServerOptions,
} from '../apiserver/index.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { parseDuration } from '../kube/duration.ts';

/** Flags of kube-apiserver about who may do what; absent ones have their defaults. */
export interface AuthorizationFlags {
  /** `--authorization-mode` */
  readonly modes?: readonly string[];
  /** `--authorization-policy-file` */
  readonly policyFile?: string | undefined;
  /** `--authorization-webhook-config-file` */
  readonly webhookConfigFile?: string | undefined;
  /** `--authorization-webhook-version`. Default: `v1beta1`. */
  readonly webhookVersion?: string | undefined;
  /** `--authorization-webhook-cache-authorized-ttl` */
  readonly authorizedTtl?: string | undefined;
  /** `--authorization-webhook-cache-unauthorized-ttl` */
  readonly unauthorizedTtl?: string | undefined;
}

/** The part of a server's options that says who may do what, and what ends its connections. */
export interface AuthorizationSettings {
  readonly options: Pick<EmbeddedApiServerOptions, 'authorization' | 'abacPolicies' | 'authorizationWebhook'>;
  close(): Promise<void>;
}

/** How long one call of the webhook may take; kube-apiserver waits as long. */
const callMs = 30_000;

/**
 * Reads the flags about authorization and the files that they name.
 *
 * @throws {AgentError} `invalid_argument` in kube-apiserver's words
 */
export async function authorizationSettings(
  flags: AuthorizationFlags,
  clock: Clock = systemClock,
): Promise<AuthorizationSettings> {
  const { modes = ['AlwaysAllow'], policyFile, webhookConfigFile } = flags;
  const faults = faultsOf(modes, policyFile, webhookConfigFile);
  if (faults.length > 0) throw invalid(faults.length === 1 ? (faults[0] ?? '') : `[${faults.join(', ')}]`);
  const webhook =
    webhookConfigFile === undefined ? undefined : await webhookOf(webhookConfigFile, flags, clock);
  return {
    options: {
      authorization: modes as readonly AuthorizationModeName[],
      ...(policyFile !== undefined && {
        abacPolicies: { text: textOf(policyFile), file: policyFile },
      }),
      ...(webhook && { authorizationWebhook: webhook.webhook }),
    },
    close: async () => {
      await webhook?.close();
    },
  };
}

const invalid = (text: string, cause?: unknown): AgentError =>
  new AgentError('invalid_argument', text, { cause });

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (reason) {
    throw invalid(`--authorization-policy-file ${file}: ${messageOf(reason)}`, reason);
  }
}

function faultsOf(
  modes: readonly string[],
  policyFile: string | undefined,
  webhookConfigFile: string | undefined,
): readonly string[] {
  if (modes.length === 0) return ['at least one authorization-mode must be passed'];
  const valid: readonly string[] = authorizationModes;
  return [
    ...modes.flatMap((mode) => [
      ...(valid.includes(mode)
        ? []
        : [
            `authorization-mode ${JSON.stringify(mode)} is not a valid mode: ${authorizationModes.join(', ')} are`,
          ]),
      ...(mode === 'ABAC' && policyFile === undefined
        ? ["authorization-mode ABAC's authorization policy file not passed (--authorization-policy-file)"]
        : []),
      ...(mode === 'Webhook' && webhookConfigFile === undefined
        ? [
            "authorization-mode Webhook's authorization config file not passed (--authorization-webhook-config-file)",
          ]
        : []),
    ]),
    ...(policyFile !== undefined && !modes.includes('ABAC')
      ? ['cannot specify --authorization-policy-file without mode ABAC']
      : []),
    ...(webhookConfigFile !== undefined && !modes.includes('Webhook')
      ? ['cannot specify --authorization-webhook-config-file without mode Webhook']
      : []),
    ...(new Set(modes).size < modes.length
      ? [
          `authorization-mode [${modes.map((mode) => JSON.stringify(mode)).join(' ')}] has mode specified more than once`,
        ]
      : []),
  ];
}

async function webhookOf(
  file: string,
  { webhookVersion = 'v1beta1', authorizedTtl, unauthorizedTtl }: AuthorizationFlags,
  clock: Clock,
): Promise<{ readonly webhook: AuthorizationWebhook; close(): Promise<void> }> {
  if (webhookVersion !== 'v1' && webhookVersion !== 'v1beta1')
    throw invalid(`--authorization-webhook-version ${webhookVersion}: v1 or v1beta1 is expected`);
  const authorizedTtlMs = ttlOf(authorizedTtl, 'authorized');
  const unauthorizedTtlMs = ttlOf(unauthorizedTtl, 'unauthorized');
  const flag = `--authorization-webhook-config-file ${file}`;
  const connection = await plainConnection(clock, file, undefined).catch((reason: unknown) => {
    throw invalid(`${flag}: ${messageOf(reason)}`, reason);
  });
  if (!connection)
    throw invalid(`${flag}: a kubeconfig is expected, whose user has certificates or a token, if any`);
  const { pathname, search, origin } = new URL(connection.server);
  const client = createApiClient({ ...connection, server: origin }, { clock, timeoutMs: callMs, qps: 0 });
  return {
    webhook: {
      version: webhookVersion,
      ...(authorizedTtlMs !== undefined && { authorizedTtlMs }),
      ...(unauthorizedTtlMs !== undefined && { unauthorizedTtlMs }),
      review: (body, signal) => client.raw(`${pathname}${search}`, { method: 'POST', body, signal }),
    },
    close: () => client.close(),
  };
}

/** Returns the milliseconds of a flag with a duration. */
function ttlOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const nanos = parseDuration(text);
  if (typeof nanos !== 'string' && nanos >= 0n) return Number(nanos / 1_000_000n);
  const why = typeof nanos === 'string' ? nanos : 'a positive duration is expected';
  throw invalid(`--authorization-webhook-cache-${name}-ttl ${text}: ${why}`);
}
