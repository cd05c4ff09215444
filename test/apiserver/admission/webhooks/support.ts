import type { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { type Answer, call } from '../../support.ts';
import { bundleOf, type TestWebhook } from '../../webhooks/support.ts';

export const admissionPath = '/apis/admissionregistration.k8s.io/v1';

const kinds = {
  mutating: 'MutatingWebhookConfiguration',
  validating: 'ValidatingWebhookConfiguration',
} as const;

export const rule = (resource: string, more: object = {}): object => ({
  operations: ['*'],
  apiGroups: ['*'],
  apiVersions: ['*'],
  resources: [resource],
  ...more,
});

/** Creates the configuration of one webhook, which sees writes of config maps in `default` unless said otherwise. */
export function configure(
  server: EmbeddedApiServer,
  type: 'mutating' | 'validating',
  name: string,
  webhook: TestWebhook,
  more: object = {},
): Promise<Answer> {
  return call(server, 'POST', `${admissionPath}/${type}webhookconfigurations`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: kinds[type],
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        rules: [rule('configmaps')],
        clientConfig: { url: webhook.url, caBundle: bundleOf(server) },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        ...more,
      },
    ],
  });
}

export const unconfigure = (
  server: EmbeddedApiServer,
  type: 'mutating' | 'validating',
  name: string,
): Promise<Answer> => call(server, 'DELETE', `${admissionPath}/${type}webhookconfigurations/${name}`);
