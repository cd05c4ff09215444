import { statSync } from 'node:fs';
import { RateLimiter } from '../api/rest/rate-limiter.ts';
import type { RuntimeParts } from '../agent/kuberuntime-provider.ts';
import type { ProviderContext } from '../agent/provider-context.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { checkPlugin, execPlugin } from '../containers/credentials/exec-plugin.ts';
import { nodeDockerConfig } from '../containers/credentials/node-config.ts';
import { PluginProvider, type PluginSettings } from '../containers/credentials/plugin-provider.ts';
import { podKeyring } from '../containers/credentials/docker-keyring.ts';
import { PullManager } from '../containers/images/pull-manager.ts';
import { requiresVerification, type VerificationPolicy } from '../containers/images/pull-record.ts';
import { PullRecordFiles } from '../containers/images/pull-record-files.ts';
import { durationMs } from '../kube/duration.ts';
import type { Image } from '../provider/cri-messages.ts';
import { type CredentialProvider, readCredentialProviders } from '../options/credential-providers.ts';
import { isGateOn } from '../options/kubelet/feature-gates.ts';
import type { KubeletConfiguration } from '../options/kubelet/kubelet-configuration.ts';

/** The settings of pull credentials. */
export type PullSettings = Pick<
  KubeletConfiguration,
  | 'registryPullQPS'
  | 'registryBurst'
  | 'imagePullCredentialsVerificationPolicy'
  | 'preloadedImagesVerificationAllowlist'
  | 'featureGates'
>;

/** Configuration and directory of the credential plug-ins; both are required. */
export interface PluginFolders {
  readonly imageCredentialProviderConfig?: string;
  readonly imageCredentialProviderBinDir?: string;
}

/** A plug-in and its executable. */
interface Plugin extends CredentialProvider {
  readonly binDir: string;
}

/**
 * Returns the configured plug-ins.
 *
 * @throws {AgentError} `invalid_argument` when the configuration cannot be read or an executable is missing
 */
export function credentialPlugins({
  imageCredentialProviderConfig: config = '',
  imageCredentialProviderBinDir: binDir = '',
}: PluginFolders): readonly Plugin[] {
  if (config === '' || binDir === '') return [];
  try {
    statSync(binDir);
  } catch (reason) {
    const missing = (reason as NodeJS.ErrnoException).code === 'ENOENT';
    throw new AgentError(
      'invalid_argument',
      missing
        ? `plugin binary directory ${binDir} did not exist`
        : `error inspecting binary directory ${binDir}: ${messageOf(reason)}`,
    );
  }
  const plugins = readCredentialProviders(config).map((provider) => ({ ...provider, binDir }));
  for (const plugin of plugins) checkPlugin(plugin);
  return plugins;
}

/** The credentials with which a provider pulls images, and a hook for image garbage collection. */
export interface PullParts extends Pick<RuntimeParts, 'keyring' | 'pullRecords' | 'mayPull'> {
  readonly afterImageGc?: (left: ReadonlySet<string>, beganAt: number) => void;
}

/** @param images all images that the runtime has */
export function pullParts(
  settings: PullSettings,
  plugins: readonly Plugin[],
  { clock, logger, rootDir, serviceAccounts }: ProviderContext,
  images: readonly Image[],
): PullParts {
  const nodeConfig = nodeDockerConfig({ clock, logger, rootDir, home: process.env['HOME'] ?? '' });
  const limit = new RateLimiter(clock, settings.registryPullQPS, settings.registryBurst);
  const providers = plugins.map(
    (plugin) =>
      new PluginProvider(pluginSettings(plugin), {
        clock,
        logger,
        serviceAccounts,
        exec: (request) => execPlugin(plugin, request, { clock, environ: process.env }),
      }),
  );
  const records = isGateOn('KubeletEnsureSecretPulledImages', settings.featureGates)
    ? new PullManager({
        files: new PullRecordFiles(rootDir, logger),
        requiresVerification: requiresVerification(
          settings.imagePullCredentialsVerificationPolicy as VerificationPolicy,
          settings.preloadedImagesVerificationAllowlist,
        ),
        clock,
        logger,
      })
    : undefined;
  records?.initialize(images);
  return {
    keyring: podKeyring({ nodeConfig, plugins: providers }),
    mayPull: () => limit.tryAcquire(),
    ...(records && {
      pullRecords: records,
      afterImageGc: (left, beganAt) => {
        records.prune(left, beganAt);
      },
    }),
  };
}

const pluginSettings = ({
  name,
  matchImages,
  defaultCacheDuration,
  tokenAttributes,
}: CredentialProvider): PluginSettings => ({
  name,
  matchImages,
  defaultCacheMs: durationMs(defaultCacheDuration),
  ...(tokenAttributes && {
    token: {
      audience: tokenAttributes.serviceAccountTokenAudience,
      cacheType: tokenAttributes.cacheType,
      requireServiceAccount: tokenAttributes.requireServiceAccount,
      requiredAnnotations: tokenAttributes.requiredServiceAccountAnnotationKeys ?? [],
      optionalAnnotations: tokenAttributes.optionalServiceAccountAnnotationKeys ?? [],
    },
  }),
});
