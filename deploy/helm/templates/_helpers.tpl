{{- define "offpeak.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "offpeak.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "offpeak.labels" -}}
{{ include "offpeak.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "offpeak.serviceAccount" -}}
{{- if .Values.serviceAccount.name }}{{ .Values.serviceAccount.name }}{{ else if .Values.serviceAccount.create }}{{ include "offpeak.name" . }}{{ else }}default{{ end }}
{{- end }}

{{- define "offpeak.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The configuration file: the values, and what the chart decides. */}}
{{- define "offpeak.config" -}}
{{- $own := dict "metrics" (dict "host" "0.0.0.0" "port" (int .Values.metrics.port) "orgs" (int .Values.metrics.orgs)) "drain" .Values.drain "drain_delay" .Values.drainDelay -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $own) }}
{{- end }}

{{/* Environment of every process: the database and the files, then the user's variables. */}}
{{- define "offpeak.env" -}}
- name: OFFPEAK_DATABASE
  valueFrom:
    secretKeyRef:
      name: {{ required "Set database.secret.name to the secret that holds the URL of the Postgres." .Values.database.secret.name }}
      key: {{ .Values.database.secret.key }}
- name: OFFPEAK_FILES
  value: {{ required "Set files to the bucket, s3://bucket/prefix." .Values.files | quote }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Rights of a container: none but to run, as user 1000, with a file system that it cannot change. */}}
{{- define "offpeak.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "offpeak.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* Deployment of one role: dict "root" . "role" "api"|"worker" "values" .Values.api "replicas" number or nil */}}
{{- define "offpeak.deployment" -}}
{{- $root := .root -}}
{{- $values := .values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "offpeak.name" $root }}-{{ .role }}
  labels:
    {{- include "offpeak.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  {{- if not (kindIs "invalid" .replicas) }}
  replicas: {{ .replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "offpeak.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  strategy:
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  template:
    metadata:
      labels:
        {{- include "offpeak.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
      annotations:
        # A changed configuration replaces the pods.
        checksum/config: {{ include "offpeak.config" $root | sha256sum }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "offpeak.serviceAccount" $root }}
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: {{ $root.Values.terminationGracePeriodSeconds }}
      securityContext:
        {{- include "offpeak.podSecurity" $root | nindent 8 }}
      {{- with $root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "offpeak.selector" $root | nindent 14 }}
              app.kubernetes.io/component: {{ .role }}
      containers:
        - name: offpeak
          image: {{ include "offpeak.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [serve, --role, {{ .role }}, --host, 0.0.0.0, --port, "8080", --data, /data, --config, /etc/offpeak/offpeak.yaml]
          env:
            {{- include "offpeak.env" $root | nindent 12 }}
          ports:
            - { name: http, containerPort: 8080 }
            - { name: metrics, containerPort: {{ $root.Values.metrics.port }} }
          # A start migrates nothing, but may wait for the database or the bucket.
          startupProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /readyz, port: http }
            periodSeconds: 2
            timeoutSeconds: 5
            failureThreshold: 1
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          securityContext:
            {{- include "offpeak.containerSecurity" $root | nindent 12 }}
          volumeMounts:
            - { name: config, mountPath: /etc/offpeak, readOnly: true }
            - { name: data, mountPath: /data }
            - { name: tmp, mountPath: /tmp }
            {{- with $root.Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: config
          configMap: { name: {{ include "offpeak.name" $root }} }
        # Nothing permanent: the Postgres and the bucket hold everything.
        - { name: data, emptyDir: {} }
        - { name: tmp, emptyDir: {} }
        {{- with $root.Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- range $key := list "nodeSelector" "tolerations" "affinity" }}
      {{- with index $values $key }}
      {{ $key }}:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- end }}
{{- end }}
