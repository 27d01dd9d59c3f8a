package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

var (
	ctx    = context.Background()
	client = openai.NewClient(option.WithBaseURL(os.Getenv("OFFPEAK_URL")+"/openai/v1/"), option.WithAPIKey(os.Getenv("OFFPEAK_API_KEY")))
)

const failing = "[[fail 400]]"

func line(n int, prompt string) string {
	text, _ := json.Marshal(map[string]any{
		"custom_id": fmt.Sprintf("r%d", n), "method": "POST", "url": "/v1/chat/completions",
		"body": map[string]any{"model": "tiny", "messages": []map[string]string{{"role": "user", "content": prompt}}},
	})
	return string(text)
}

func create(prompts ...string) (*openai.Batch, error) {
	lines := []string{}
	for n, prompt := range prompts {
		lines = append(lines, line(n, prompt))
	}
	file, err := client.Files.New(ctx, openai.FileNewParams{
		File:    openai.File(bytes.NewBufferString(strings.Join(lines, "\n")), "in.jsonl", "application/jsonl"),
		Purpose: openai.FilePurposeBatch,
	})
	if err != nil {
		return nil, err
	}
	return client.Batches.New(ctx, openai.BatchNewParams{
		InputFileID:      file.ID,
		Endpoint:         openai.BatchNewParamsEndpointV1ChatCompletions,
		CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
	})
}

func ended(id string) (*openai.Batch, error) {
	for range 600 {
		batch, err := client.Batches.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		switch batch.Status {
		case openai.BatchStatusValidating, openai.BatchStatusInProgress, openai.BatchStatusCancelling:
			time.Sleep(100 * time.Millisecond)
		default:
			return batch, nil
		}
	}
	return nil, errors.New("the batch did not end within a minute")
}

type result struct {
	CustomID string `json:"custom_id"`
	Response *struct {
		Body struct {
			Choices []struct {
				Message struct{ Content string }
			}
		}
	}
	Error *struct{ Code, Message string }
}

func results(fileID string) ([]result, error) {
	answer, err := client.Files.Content(ctx, fileID)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	found := []result{}
	for _, each := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var one result
		if err := json.Unmarshal([]byte(each), &one); err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

func main() {
	var batch *openai.Batch
	cell("openai: create", func() error {
		created, err := create("one", failing, "two", failing)
		if err != nil {
			return err
		}
		if created.CreatedAt < 1_700_000_000 || created.ExpiresAt-created.CreatedAt != 86_400 {
			return fmt.Errorf("created at %d, expires at %d", created.CreatedAt, created.ExpiresAt)
		}
		batch, err = ended(created.ID)
		if err != nil {
			return err
		}
		counts := batch.RequestCounts
		return same([]int64{counts.Total, counts.Completed, counts.Failed}, []int64{4, 2, 2})
	})
	cell("openai: results", func() error {
		lines, err := results(batch.OutputFileID)
		if err != nil {
			return err
		}
		texts := []string{}
		for _, each := range lines {
			texts = append(texts, each.Response.Body.Choices[0].Message.Content)
		}
		sort.Strings(texts)
		return same(texts, []string{"Echo: one", "Echo: two"})
	})
	cell("openai: failed requests", func() error {
		lines, err := results(batch.ErrorFileID)
		if err != nil {
			return err
		}
		ids := []string{}
		for _, each := range lines {
			if each.Error == nil || each.Error.Message == "" {
				return errors.New("no reason")
			}
			ids = append(ids, each.CustomID)
		}
		sort.Strings(ids)
		return same(ids, []string{"r1", "r3"})
	})
	cell("openai: list", func() error {
		pages := client.Batches.ListAutoPaging(ctx, openai.BatchListParams{Limit: openai.Int(1)})
		if !pages.Next() {
			return errors.New("the list is empty")
		}
		return same(pages.Current().ID, batch.ID)
	})
	cell("openai: cancel", func() error {
		slow, err := create("[[hang]]")
		if err != nil {
			return err
		}
		if _, err := client.Batches.Cancel(ctx, slow.ID); err != nil {
			return err
		}
		last, err := ended(slow.ID)
		if err != nil {
			return err
		}
		return same(last.Status, openai.BatchStatusCancelled)
	})
}

func same(got, expected any) error {
	if fmt.Sprint(got) != fmt.Sprint(expected) {
		return fmt.Errorf("expected %v, got %v", expected, got)
	}
	return nil
}

// cell runs a cell and prints one line of JSON for it.
func cell(name string, run func() error) {
	var failure any
	if err := run(); err != nil {
		failure = err.Error()
	}
	text, _ := json.Marshal(struct {
		Name  string `json:"name"`
		Error any    `json:"error"`
	}{name, failure})
	fmt.Println(string(text))
}
