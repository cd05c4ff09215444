import { createHash } from 'node:crypto';
import { pem } from '../../pki/certificates.ts';
import { AgentError } from '../../base/errors.ts';
import { type LabelSelector, labelSelectorMatches } from '../../kube/label-selector.ts';
import { nameOf } from '../../kube/names.ts';
import type { KubeObject } from '../../kube/types.ts';

/** Trust anchors: a ClusterTrustBundle object. */
export interface ClusterTrustBundle extends KubeObject {
  readonly spec: {
    /** Signer that the anchors belong to; absent: none in particular. */
    readonly signerName?: string;
    /** Certificates in PEM. */
    readonly trustBundle: string;
  };
}

/** Selects bundles: one by name, or those of a signer. */
export interface TrustBundleSource {
  readonly name?: string;
  readonly signerName?: string;
  /** Selector among the signer's bundles; absent: none, empty: all. */
  readonly labelSelector?: LabelSelector;
  /** True when an empty result is allowed: the file is empty then. */
  readonly optional?: boolean;
}

/**
 * Returns the trust anchors that a source selects.
 *
 * Follows kubelet `clustertrustbundle.InformerManager`.
 *
 * @param salt determines the order of the anchors, so that no one depends on it; changes with each start of the agent
 * @throws {AgentError} `not_found` when the source selects none and is not optional
 */
export function trustAnchors(
  bundles: readonly ClusterTrustBundle[],
  source: TrustBundleSource,
  salt: string,
): string {
  const { name, signerName, labelSelector, optional = false } = source;
  const chosen = bundles.filter((bundle) =>
    name === undefined
      ? bundle.spec.signerName === signerName &&
        labelSelectorMatches(labelSelector, bundle.metadata?.labels ?? {})
      : nameOf(bundle) === name,
  );
  if (chosen.length === 0 && !optional)
    throw new AgentError(
      'not_found',
      name === undefined
        ? 'combination of signerName and labelSelector matched zero ClusterTrustBundles'
        : `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "${name}" not found`,
    );
  return normalized(chosen.map(({ spec }) => spec.trustBundle).join('\n'), salt);
}

const block = /-----BEGIN ([A-Z0-9 ]+)-----([^]*?)-----END \1-----/g;
const headers = /^.*:.*$/gm;

/** Returns each certificate once, in a salted order, without text between them. */
function normalized(text: string, salt: string): string {
  const anchors = new Map<string, string>();
  for (const [, , body = ''] of text.matchAll(block)) {
    const bytes = Buffer.from(body.replace(headers, ''), 'base64');
    anchors.set(createHash('sha256').update(salt).update(bytes).digest('hex'), pem('CERTIFICATE', bytes));
  }
  return [...anchors]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, anchor]) => anchor)
    .join('');
}
