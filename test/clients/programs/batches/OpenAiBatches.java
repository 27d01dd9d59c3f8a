import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.openai.azure.AzureOpenAIServiceVersion;
import com.openai.azure.AzureUrlPathMode;
import com.openai.azure.credential.AzureApiKeyCredential;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.MultipartField;
import com.openai.models.batches.Batch;
import com.openai.models.batches.BatchCreateParams;
import com.openai.models.batches.BatchListParams;
import com.openai.models.files.FileCreateParams;
import com.openai.models.files.FilePurpose;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

public class OpenAiBatches {
    static final String URL = System.getenv("OFFPEAK_URL");
    static final String KEY = System.getenv("OFFPEAK_API_KEY");
    static final String FAILING = "[[fail 400]]";
    static final JsonMapper JSON = new JsonMapper();

    public static void main(String[] args) {
        OpenAIClient openai = OpenAIOkHttpClient.builder().baseUrl(URL + "/openai/v1").apiKey(KEY).build();
        OpenAIClient azure = OpenAIOkHttpClient.builder()
                .baseUrl(URL)
                .credential(AzureApiKeyCredential.create(KEY))
                .azureUrlPathMode(AzureUrlPathMode.LEGACY)
                .azureServiceVersion(AzureOpenAIServiceVersion.fromString("2024-10-21"))
                .build();
        new OpenAiBatches("openai", openai, "/v1/chat/completions").run();
        new OpenAiBatches("azure", azure, "/chat/completions").run();
        System.exit(0);
    }

    final String surface;
    final OpenAIClient client;
    final String endpoint;
    Batch batch;

    OpenAiBatches(String surface, OpenAIClient client, String endpoint) {
        this.surface = surface;
        this.client = client;
        this.endpoint = endpoint;
    }

    void run() {
        cell("create", () -> {
            Batch created = create("one", FAILING, "two", FAILING).validate();
            same(created.expiresAt().get() - created.createdAt(), 86_400L);
            batch = ended(created.id()).validate();
            same(batch.requestCounts().get().completed(), 2L);
            same(batch.requestCounts().get().failed(), 2L);
        });
        cell("results", () -> {
            List<String> texts = new ArrayList<>();
            for (JsonNode line : lines(batch.outputFileId().get()))
                texts.add(line.at("/response/body/choices/0/message/content").asText());
            same(sorted(texts), List.of("Echo: one", "Echo: two"));
        });
        cell("failed requests", () -> {
            List<String> ids = new ArrayList<>();
            for (JsonNode line : lines(batch.errorFileId().get())) {
                same(line.at("/error/message").asText().isEmpty(), false);
                ids.add(line.get("custom_id").asText());
            }
            same(sorted(ids), List.of("r1", "r3"));
        });
        cell("list", () -> {
            BatchListParams params = BatchListParams.builder().limit(1).build();
            List<String> ids = new ArrayList<>();
            for (Batch each : client.batches().list(params).autoPager()) ids.add(each.validate().id());
            same(ids.get(0), batch.id());
        });
        cell("cancel", () -> {
            String id = create("[[hang]]").id();
            client.batches().cancel(id).validate();
            same(ended(id).status(), Batch.Status.CANCELLED);
        });
    }

    Batch create(String... prompts) throws Exception {
        List<String> lines = new ArrayList<>();
        for (String prompt : prompts) {
            Object body = Map.of("model", "tiny", "messages", List.of(Map.of("role", "user", "content", prompt)));
            lines.add(JSON.writeValueAsString(
                    Map.of("custom_id", "r" + lines.size(), "method", "POST", "url", endpoint, "body", body)));
        }
        InputStream input = new ByteArrayInputStream(String.join("\n", lines).getBytes("UTF-8"));
        String file = client.files()
                .create(FileCreateParams.builder()
                        .purpose(FilePurpose.BATCH)
                        .file(MultipartField.<InputStream>builder().value(input).filename("in.jsonl").build())
                        .build())
                .validate()
                .id();
        return client.batches()
                .create(BatchCreateParams.builder()
                        .inputFileId(file)
                        .endpoint(BatchCreateParams.Endpoint.of(endpoint))
                        .completionWindow(BatchCreateParams.CompletionWindow._24H)
                        .build());
    }

    Batch ended(String id) throws Exception {
        List<Batch.Status> running =
                List.of(Batch.Status.VALIDATING, Batch.Status.IN_PROGRESS, Batch.Status.CANCELLING);
        for (int n = 0; n < 600; n++) {
            Batch found = client.batches().retrieve(id);
            if (!running.contains(found.status())) return found;
            Thread.sleep(100);
        }
        throw new IllegalStateException("the batch did not end within a minute");
    }

    List<JsonNode> lines(String file) throws Exception {
        List<JsonNode> lines = new ArrayList<>();
        try (InputStream content = client.files().content(file).body()) {
            for (String line : new String(content.readAllBytes(), "UTF-8").trim().split("\n"))
                lines.add(JSON.readTree(line));
        }
        return lines;
    }

    static List<String> sorted(List<String> texts) {
        String[] all = texts.toArray(new String[0]);
        Arrays.sort(all);
        return Arrays.asList(all);
    }

    static void same(Object got, Object expected) {
        if (!got.equals(expected)) throw new AssertionError("expected " + expected + ", got " + got);
    }

    interface Cell {
        void run() throws Exception;
    }

    /** Runs a cell and prints one line of JSON for it. */
    void cell(String name, Cell cell) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("name", surface + ": " + name);
        line.put("error", null);
        try {
            cell.run();
        } catch (Throwable thrown) {
            StringWriter text = new StringWriter();
            thrown.printStackTrace(new PrintWriter(text));
            line.put("error", text.toString());
        }
        System.out.println(JSON.valueToTree(line));
    }
}
